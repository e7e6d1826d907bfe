/**
 * Settings that a running node does not take from a new configuration: ports, stores, which would
 * have to be emptied or moved, and the way in which the node cooperates, from which its summary was
 * built. It takes all others, the list of neighbours among them, unless the node had none and has
 * no part for them. The operator is told the names as in the file. The files with the secrets and
 * the certificates of the fleet are read again at each reload; only their names need a restart.
 */

import type { NodeConfig } from './node-config.ts';
import type { PeerConfig } from './peer-config.ts';

/** The settings, by their names in the file. */
const NEED_RESTART: Readonly<Record<string, (config: NodeConfig) => unknown>> = {
  listen: ({ listen }) => listen,
  adminListen: ({ adminListen }) => adminListen,
  memory: ({ memoryBytes }) => memoryBytes,
  disk: ({ disk }) => disk?.folder ?? null,
  diskSize: ({ disk }) => disk?.bytes ?? null,
  workers: ({ workers }) => workers,
  peer: ({ peers }) => peers === null,
  nats: ({ peers }) => peers?.nats ?? null,
  group: ({ peers }) => peers?.group?.name ?? null,
  groupPatience: ({ peers }) => peers?.group?.patienceMs ?? null,
  groupFind: ({ peers }) => peers?.group?.isFinding ?? null,
  peerMulticast: ({ peers }) => peers?.multicast ?? null,
  peerAddress: ({ peers }) => peers?.address ?? null,
  peerListen: ({ peers }) => peers?.listen ?? null,
  peerSecret: ({ peers }) => peers?.secretFile ?? null,
  peerCert: ({ peers }) => peers?.certificates?.certFile ?? null,
  peerKey: ({ peers }) => peers?.certificates?.keyFile ?? null,
  peerCa: ({ peers }) => peers?.certificates?.caFile ?? null,
  peerBudget: ({ peers, squids }) => (peers ?? squids)?.budgetMs,
  peerMemory: ({ peers, squids }) => (peers ?? squids)?.memoryBytes,
  peerCopies: ({ peers, squids }) => (peers ?? squids)?.copiesShare,
  peerBandwidth: ({ peers }) => peers?.bandwidth,
  peerMode: ({ peers }) => peers?.mode,
  share: ({ peers, squids }) => peers?.share ?? squids?.share ?? [],
  squid: ({ squids }) => squids?.addresses ?? [],
  squidDigest: ({ squids }) => squids?.digestBits != null,
  squidDigestBits: ({ squids }) => squids?.digestBits,
};

/** The settings that differ and stay unchanged until the next start. */
export function settingsForRestart(running: NodeConfig, wanted: NodeConfig): string[] {
  return Object.keys(NEED_RESTART).filter(
    (name) => JSON.stringify(NEED_RESTART[name](running)) !== JSON.stringify(NEED_RESTART[name](wanted)),
  );
}

/** The new configuration, with the old values of settings that need a restart. */
export function withoutRestart(running: NodeConfig, wanted: NodeConfig): NodeConfig {
  const { listen, listenDefaulted, adminListen, memoryBytes, disk, diskDefaulted, workers, peers, squids } =
    running;
  return {
    ...wanted,
    listen,
    listenDefaulted,
    adminListen,
    memoryBytes,
    disk,
    diskDefaulted,
    workers,
    peers: withMembers(peers, wanted.peers),
    squids,
  };
}

/** The running settings for cooperation, with the neighbours of the new ones. */
function withMembers(running: PeerConfig | null, wanted: PeerConfig | null): PeerConfig | null {
  if (running === null || wanted === null) return running;
  const { peers, dns, dnsServers } = wanted;
  return { ...running, peers, dns, dnsServers };
}
