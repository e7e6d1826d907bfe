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
    return { core, kv };
  } catch (cause) {
    throw new Error(
      `Cannot use NATS: expected the npm packages ${PACKAGES}, got none (npm install ${PACKAGES.replace(' and', '')})`,
      { cause },
    );
  }
}
