/** Loads files of the build as scripts. */

import type { ViewName } from './route.ts';
import { scriptAddress } from './script-policy.ts';

/**
 * The files of each view; the first one draws it. Now and Neighbours share the connection to the
 * node.
 */
const FILES: Record<ViewName, readonly [string, ...string[]]> = {
  now: ['node'],
  neighbours: ['node'],
  plan: ['plan'],
  inside: ['inside'],
  papers: ['papers', 'paperstext'],
};

const running = new Map<string, Promise<void>>();

/** Begins to load all files of a view. Resolves when it can be drawn. */
export function loadView(view: ViewName): Promise<void> {
  const [first, ...others] = FILES[view].map(loadFile);
  // The view asks for each of them again, and reports the failure.
  for (const other of others) other.catch(() => {});
  return first as Promise<void>;
}

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
