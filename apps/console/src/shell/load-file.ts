/** Loads files of the build as scripts. */

import { scriptAddress } from './script-policy.ts';

const running = new Map<string, Promise<void>>();

/** Loads a file of the build once. A failed load can be tried again. */
export function loadFile(name: string): Promise<void> {
  const known = running.get(name);
  if (known !== undefined) return known;
  const loading = new Promise<void>((resolve, reject) => {
    const script = document.createElement('script');
    script.src = scriptAddress(`${name}.js`);
    script.addEventListener('load', () => resolve());
    script.addEventListener('error', () => {
      running.delete(name);
      script.remove();
      reject(new Error(`Cannot show the view: the file ${name}.js did not load`));
    });
    document.head.append(script);
  });
  running.set(name, loading);
  return loading;
}
