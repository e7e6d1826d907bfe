// How the built command loads modules of Node and packages in CommonJS: late, and without the costs
// that an ES module has for them.

import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';

/** Sources of this repository, and what is built from them. */
const OURS = /[\\/](?:apps[\\/][^\\/]+[\\/]src[\\/].*\.ts|packages[\\/][^\\/]+[\\/]dist[\\/].*\.js)$/;

/** The plugin of esbuild. */
export function lateLoading() {
  return {
    name: 'late-loading',
    setup({ onResolve, onLoad }) {
      onLoad({ filter: OURS }, ({ path }) => ({
        loader: path.endsWith('.ts') ? 'ts' : 'js',
        contents: withLateRequires(withNodeModules(readFileSync(path, 'utf8'))),
      }));
      onResolve({ filter: /^[a-z:_/]+$/ }, ({ path, kind }) => {
        const isNode = path.startsWith('node:') || isBuiltin(path);
        return kind === 'require-call' && isNode ? { path, namespace: 'node-module' } : null;
      });
      onLoad({ filter: /.*/, namespace: 'node-module' }, ({ path }) => ({ contents: requiredModule(path) }));
    },
  };
}

/**
 * A source that loads a CommonJS package late calls `createRequire(import.meta.url)('name')`, which
 * esbuild does not follow. As a plain `require` it is bundled, and still evaluated only when it is
 * called.
 */
function withLateRequires(text) {
  return text.replaceAll(/createRequire\(import\.meta\.url\)\((['"][^'"]+['"])\)/g, 'require($1)');
}

/**
 * Takes the exports of Node's modules from the modules themselves. An import of `node:fs` in an ES
 * module asks the module for every export that it has, and so loads streams, which takes 5 % of the
 * time of a short command.
 */
function withNodeModules(text) {
  return text.replaceAll(/^import \{([^}]+)\} from ['"](node:[a-z_/]+)['"];$/gm, (_, names, module) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => {
        const [from, to = from] = name.split(' as ');
        // A function that is marked as pure is left out if its value is not used.
        return `const ${to} = /* @__PURE__ */ (() => process.getBuiltinModule('${module}').${from})();`;
      })
      .join(' '),
  );
}

/**
 * Packages in CommonJS call `require` for Node's modules, and there is no `require` in an ES
 * module. The usual remedy, a banner that makes one in every file, takes 3 to 5 % more processor
 * time for `--version`, `--help` and `check`.
 *
 * `child_process` is loaded at its first use. commander requires it for commands that are other
 * programs, and it loads the modules of the network.
 */
function requiredModule(path) {
  const found = `process.getBuiltinModule(${JSON.stringify(path)})`;
  if (path.endsWith('child_process'))
    return `module.exports = new Proxy({}, { get: (_, name) => ${found}[name] });`;
  return `const found = ${found};
    if (found === undefined) throw new Error(${JSON.stringify(`Cannot find module '${path}'`)});
    module.exports = found;`;
}
