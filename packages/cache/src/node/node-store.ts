/**
 * The store of one process, as it is configured: memory alone, or memory over a folder on disk. A worker has its part of each capacity, and a
 * folder of its own.
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

/** What an object on disk takes on average, for the window of the admission: as long as the disk holds, rather longer. */
const TYPICAL_OBJECT_BYTES = 16_000;
const LEAST_WINDOW = 10_000;
/** 2.2 MB of memory each (admission.ts). */
const MOST_WINDOW = 1_000_000;

/** Of V8's heap, for the heads of what is in memory; at its limit the process would end. The rest is for requests, and for what is not collected yet. */
const HEAP_SHARE = 0.6;

export interface NodeStore {
  readonly store: ResponseStore;
  /** Null: in memory only. */
  readonly folder: string | null;
  /** The longest body it keeps. A longer one must not be shared while it comes: it would move at the pace of its slowest reader. */
  readonly maxBodyBytes: number;
  /** By tier, for status and metrics. */
  statistics(): Record<string, StoreStatistics>;
  close(): Promise<void>;
}

/** Alone, a node claims its folder; of workers, their primary has done so. */
export async function openNodeStore(config: NodeConfig, log: Log, team: Team | null): Promise<NodeStore> {
  const parts = team?.size ?? 1;
  const memoryBytes = Math.floor(config.memoryBytes / parts);
  // With a disk below it memory is for the small ones; alone it takes all that leave room for others.
  const memory = new MemoryStore({
    capacityBytes: memoryBytes,
    heapBytes: Math.floor(HEAP_SHARE * getHeapStatistics().heap_size_limit),
    ...(config.disk === null ? { maxBodyBytes: Math.floor(memoryBytes / 8) } : {}),
  });
  const memoryOnly = {
    store: memory,
    folder: null,
    maxBodyBytes: memory.maxBodyBytes,
    statistics: () => ({ memory: memory.statistics }),
    close: () => memory.close(),
  };
  if (config.disk === null) return memoryOnly;
  const claimed = team === null ? await claimConfiguredFolder(config) : null;
  const folder = claimed?.folder ?? config.disk.folder;
  if (claimed?.rearranged) log.event('warn', 'disk-rearranged', { folder, workers: config.workers });
  try {
    const { store, disk, admission } = await openTiers(
      memory,
      config,
      Math.floor(config.disk.bytes / parts),
      workerFolder(folder, team?.index ?? 0),
      log,
    );
    return {
      store,
      folder,
      maxBodyBytes: Math.max(memory.maxBodyBytes, Math.floor(config.disk.bytes / parts / 4)),
      statistics: () => {
        const own = disk.statistics;
        // What came for the first time was refused by the filter before the disk, and never reached it.
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
) {
  const started = Date.now();
  const disk = await DiskStore.open({
    folder,
    capacityBytes,
    maxObjectBytes: Math.min(limits.storedObjectBytes, Math.floor(capacityBytes / 4)),
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
      // A disk stays full for a while, and each request would say so.
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
