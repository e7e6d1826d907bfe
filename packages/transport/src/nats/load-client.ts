/**
 * Loads the NATS client when a node asks for it. It is an optional dependency: most programs that
 * use this package do without.
 */

import type { LoadedNatsClient } from './nats-server-options.ts';

const PACKAGES = '@nats-io/transport-node and @nats-io/kv';

/** Loads the client. Rejects if it is not installed. */
export async function loadNatsClient(): Promise<LoadedNatsClient> {
  try {
    const [core, kv] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/kv')]);
    return { core: named(core), kv: named(kv) };
  } catch (cause) {
    throw new Error(
      `Cannot use NATS: expected the npm packages ${PACKAGES}, got none (npm install ${PACKAGES.replace(' and', '')})`,
      { cause },
    );
  }
}

/**
 * The names of a module. The client is CommonJS: Node finds its names, and a bundle such as that of
 * the command has them in the default export alone.
 */
function named<Module extends object>(module: Module): Module {
  const isBundled = 'default' in module && Object.keys(module).length === 1;
  return isBundled ? (module.default as Module) : module;
}
