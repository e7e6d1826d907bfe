/**
 * The store of one process, as configured: memory alone, or memory over a folder on disk. A worker
 * has its share of each capacity, and a folder of its own.
 *
 * A volume that has no room for a store, even after the old one was dropped, is not used: the node
 * starts with memory alone, because a cache without a disk is better than no proxy.
 */

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { SecretKey } from 'bloomery';
import { DiskStore } from '../store/disk/disk-store.ts';
import { isFullError } from '../store/disk/file-io.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import type { ResponseStore, StoreStatistics } from '../store/response-store.ts';
import { Admission } from '../store/tiered/admission.ts';
import { TieredStore } from '../store/tiered/tiered-store.ts';
import { claimConfiguredFolder, logUnused, workerFolder } from './claimed-folder.ts';
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
  const claimed = team === null ? await claimConfiguredFolder(config, log, signal) : null;
  if (config.disk === null || (team === null && claimed === null)) return memoryAlone(config, parts);
  const folder = claimed?.folder ?? config.disk.folder;
  const place = workerFolder(folder, team?.index ?? 0);
  const capacityBytes = Math.floor(config.disk.bytes / parts);
  try {
    const disk = await openDisk(config, capacityBytes, place, log, signal);
    if (disk === null) {
      claimed?.release();
      return memoryAlone(config, parts);
    }
    const memory = new MemoryStore(memoryOptions(config, parts));
    const { store, admission } = await openTiers(memory, disk, capacityBytes, place, log);
    return {
      store,
      folder,
      keptName: claimed?.name ?? null,
      maxBodyBytes: Math.max(memory.maxBodyBytes, Math.floor(capacityBytes / 4)),
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

function memoryOptions(config: NodeConfig, parts: number) {
  return {
    capacityBytes: Math.floor(config.memoryBytes / parts),
    ...copiesOf(config),
    heapBytes: Math.floor(HEAP_SHARE * getHeapStatistics().heap_size_limit),
  };
}

/**
 * With a disk, memory is for small bodies. Without one, it accepts all bodies that leave room for
 * others.
 */
function memoryAlone(config: NodeConfig, parts: number): NodeStore {
  const options = memoryOptions(config, parts);
  const memory = new MemoryStore({ ...options, maxBodyBytes: Math.floor(options.capacityBytes / 8) });
  return {
    store: memory,
    folder: null,
    keptName: null,
    maxBodyBytes: memory.maxBodyBytes,
    statistics: () => ({ memory: memory.statistics }),
    close: () => memory.close(),
  };
}

/**
 * Opens the store on disk. If the volume is full, the old store is dropped. Returns null if that is
 * not enough.
 */
async function openDisk(
  { limits }: NodeConfig,
  capacityBytes: number,
  folder: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<DiskStore | null> {
  const started = Date.now();
  const full = oncePerMinute();
  let opened = false;
  const open = () =>
    DiskStore.open({
      folder,
      capacityBytes,
      maxObjectBytes: Math.min(limits.storedObjectBytes, Math.floor(capacityBytes / 4)),
      onSmaller: (room) => {
        const facts = { folder, capacityBytes: room, configuredBytes: capacityBytes };
        if (!opened) log.event('warn', 'disk-small', facts);
        else if (full())
          log.event('warn', 'disk-full', { ...facts, note: 'old responses make room for new ones' });
      },
      signal,
    });
  let disk: DiskStore;
  try {
    disk = await open().catch((error) => {
      if (!isFullError(error)) throw error;
      rmSync(folder, { recursive: true, force: true });
      return open();
    });
  } catch (error) {
    if (!isFullError(error)) throw error;
    logUnused(log, folder, error);
    return null;
  }
  opened = true;
  const { responses, bytes } = disk.statistics;
  log.event('info', 'disk-opened', { folder, responses, bytes, ms: Date.now() - started });
  return disk;
}

async function openTiers(
  memory: MemoryStore,
  disk: DiskStore,
  capacityBytes: number,
  folder: string,
  log: Log,
) {
  const window = Math.min(
    MOST_WINDOW,
    Math.max(LEAST_WINDOW, Math.ceil(capacityBytes / TYPICAL_OBJECT_BYTES)),
  );
  const admission = new Admission({ capacity: window, key: new SecretKey(randomBytes(16)) });
  const full = oncePerMinute();
  const store = await TieredStore.open(memory, disk, {
    admission,
    onDiskFull: (error) => {
      if (full()) log.event('warn', 'disk-full', { folder, problem: error, note: 'a response is not kept' });
    },
    onDiskFailure: (error) =>
      log.event('error', 'disk-failed', { folder, problem: error, note: 'all goes on in memory' }),
  });
  return { store, admission };
}

/** A disk stays full for a while, and otherwise each request would log it. */
function oncePerMinute(): () => boolean {
  let toldAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - toldAt < 60_000) return false;
    toldAt = now;
    return true;
  };
}

/** Copies have a part of the memory where objects come from neighbours. */
function copiesOf({ peers, squids }: NodeConfig): { readonly peerCopiesShare?: number } {
  const share =
    peers?.copiesShare ?? (squids !== null && squids.addresses.length > 0 ? squids.copiesShare : null);
  return share === null ? {} : { peerCopiesShare: share };
}
