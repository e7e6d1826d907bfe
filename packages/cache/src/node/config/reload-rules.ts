/**
 * What a running node does not take from a new configuration: ports, and stores, which would have to be emptied or moved. All else is taken. An operator is told
 * the names as they stand in the file.
 */

import type { NodeConfig } from './node-config.ts';

/** By the names of settings in the file. */
const NEED_RESTART: Readonly<Record<string, (config: NodeConfig) => unknown>> = {
  listen: ({ listen }) => listen,
  adminListen: ({ adminListen }) => adminListen,
  memory: ({ memoryBytes }) => memoryBytes,
  disk: ({ disk }) => disk?.folder ?? null,
  diskSize: ({ disk }) => disk?.bytes ?? null,
  workers: ({ workers }) => workers,
};

/** The settings that differ and stay as they are until the next start. */
export function settingsForRestart(running: NodeConfig, wanted: NodeConfig): string[] {
  return Object.keys(NEED_RESTART).filter(
    (name) => JSON.stringify(NEED_RESTART[name](running)) !== JSON.stringify(NEED_RESTART[name](wanted)),
  );
}

/** The new configuration, with what stays. */
export function withoutRestart(running: NodeConfig, wanted: NodeConfig): NodeConfig {
  const { listen, listenDefaulted, adminListen, memoryBytes, disk, diskDefaulted, workers } = running;
  return { ...wanted, listen, listenDefaulted, adminListen, memoryBytes, disk, diskDefaulted, workers };
}
