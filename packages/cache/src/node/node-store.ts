/**
 * The store of one process, as configured: memory alone, or memory over a folder on disk. A worker
 * has its share of each capacity, and a folder of its own.
 */

import { randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { SecretKey } from 'bloomery';
import { DiskStore } from '../store/disk/disk-store.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import type { ResponseStore, StoreStatistics } from '../store/response-store.ts';
import { Admission } from '../store/tiered/admission.ts';
import { TieredStore } from '../store/tiered/tiered-store.ts';
import { claimConfiguredFolder, workerFolder } from './claimed-folder.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { Log } from './log/log.ts';
import type { Team } from './workers/team.ts';

/**
 * Average size of an object on disk, used to size the admission window: it covers about as many
 * objects as the disk holds, or more.
 */
const TYPICAL_OBJECT_BYTES = 16_000;
const LEAST_WINDOW = 10_000;
/** 2.2 MB of memory each (admission.ts). */
const MOST_WINDOW = 1_000_000;

/**
 * The share of V8's heap for the heads of responses in memory; at the heap limit the process would
 * end. The rest is for requests, and for garbage that is not collected yet.
 */
const HEAP_SHARE = 0.6;

export interface NodeStore {
  readonly store: ResponseStore;
  /** The folder, or null if responses are kept in memory only. */
  readonly folder: string | null;
  /** The name that the folder holds, or null for a worker and for a node without a folder. */
  readonly keptName: string | null;
  /**
   * The longest body that the store keeps. A longer one must not be shared while it is fetched,
   * because it would move at the pace of its slowest reader.
   */
  readonly maxBodyBytes: number;
  /** Statistics by tier, for status and metrics. */
  statistics(): Record<string, StoreStatistics>;
  close(): Promise<void>;
}

/** A single node claims its folder; with workers, their primary has claimed it. */
export async function openNodeStore(
  config: NodeConfig,
  log: Log,
  team: Team | null,
  signal?: AbortSignal,
): Promise<NodeStore> {
  const parts = team?.size ?? 1;
  const memoryBytes = Math.floor(config.memoryBytes / parts);
  // With a disk, memory is for small bodies. Without one, it accepts all bodies that leave room for
  // others.
  const memory = new MemoryStore({
    capacityBytes: memoryBytes,
    ...copiesOf(config),
    heapBytes: Math.floor(HEAP_SHARE * getHeapStatistics().heap_size_limit),
    ...(config.disk === null ? { maxBodyBytes: Math.floor(memoryBytes / 8) } : {}),
  });
  const memoryOnly = {
    store: memory,
    folder: null,
    keptName: null,
    maxBodyBytes: memory.maxBodyBytes,
    statistics: () => ({ memory: memory.statistics }),
    close: () => memory.close(),
  };
  if (config.disk === null) return memoryOnly;
  const claimed = team === null ? await claimConfiguredFolder(config, signal) : null;
  const folder = claimed?.folder ?? config.disk.folder;
  if (claimed?.rearranged) log.event('warn', 'disk-rearranged', { folder, workers: config.workers });
  try {
    const { store, disk, admission } = await openTiers(
      memory,
      config,
      Math.floor(config.disk.bytes / parts),
      workerFolder(folder, team?.index ?? 0),
      log,
      signal,
    );
    return {
      store,
      folder,
      keptName: claimed?.name ?? null,
      maxBodyBytes: Math.max(memory.maxBodyBytes, Math.floor(config.disk.bytes / parts / 4)),
      statistics: () => {
        const own = disk.statistics;
        // Responses seen for the first time were refused by the admission filter and never reached
        // the disk.
        return {
          memory: memory.statistics,
          disk: { ...own, refused: own.refused + admission.statistics.refused },
        };
      },
      close: async () => {
        await store.close();
        claimed?.release();
      },
    };
  } catch (error) {
    claimed?.release();
    throw error;
  }
}

async function openTiers(
  memory: MemoryStore,
  { limits }: NodeConfig,
  capacityBytes: number,
  folder: string,
  log: Log,
  signal: AbortSignal | undefined,
) {
  const started = Date.now();
  const disk = await DiskStore.open({
    folder,
    capacityBytes,
    maxObjectBytes: Math.min(limits.storedObjectBytes, Math.floor(capacityBytes / 4)),
    signal,
  });
  const { responses, bytes } = disk.statistics;
  log.event('info', 'disk-opened', { folder, responses, bytes, ms: Date.now() - started });
  const window = Math.min(
    MOST_WINDOW,
    Math.max(LEAST_WINDOW, Math.ceil(capacityBytes / TYPICAL_OBJECT_BYTES)),
  );
  const admission = new Admission({ capacity: window, key: new SecretKey(randomBytes(16)) });
  let toldFull = Number.NEGATIVE_INFINITY;
  const store = await TieredStore.open(memory, disk, {
    admission,
    onDiskFull: (error) => {
      // A disk stays full for a while, and otherwise each request would log it.
      const now = performance.now();
      if (now - toldFull < 60_000) return;
      toldFull = now;
      log.event('warn', 'disk-full', {
        folder,
        problem: error,
        note: 'nothing new is kept until there is room',
      });
    },
    onDiskFailure: (error) =>
      log.event('error', 'disk-failed', { folder, problem: error, note: 'all goes on in memory' }),
  });
  return { store, disk, admission };
}

/** Copies have a part of the memory where objects come from neighbours. */
function copiesOf({ peers, squids }: NodeConfig): { readonly peerCopiesShare?: number } {
  const share =
    peers?.copiesShare ?? (squids !== null && squids.addresses.length > 0 ? squids.copiesShare : null);
  return share === null ? {} : { peerCopiesShare: share };
}
