/**
 * A storm, from a seed: many clients that ask in all ways and leave at any time, an origin that
 * answers in all ways and breaks off at any time. Each body says what it is at every place, so that
 * a mixture, a shift or a wrong end is seen. At the end nothing may be left over.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LabAnswer, type LabRequest, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { DiskStore } from '../../src/store/disk/disk-store.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';
import { TieredStore } from '../../src/store/tiered/tiered-store.ts';
import { eventually, startProxy } from './proxy-lab.ts';

const rejections: unknown[] = [];
const listen = (reason: unknown) => rejections.push(reason);
process.on('unhandledRejection', listen);
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});
afterAll(() => {
  process.off('unhandledRejection', listen);
});

/** mulberry32 */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** Byte `at` of a body depends on path, language, version and place. */
function bodyOf(path: string, language: string, version: number, size: number): Buffer {
  const line = `${path} ${language} v${version} `;
  const known = bodies.get(line);
  if (known?.length === size) return known;
  const places: string[] = [];
  for (let at = 0, length = 0; length < size; at++)
    length += places.push(`${line}${at};`) && places[at]!.length;
  const body = Buffer.from(places.join('').slice(0, size), 'latin1');
  bodies.set(line, body);
  return body;
}

/** To the disk goes all at first sight. */
const ALL = { admit: () => true, statistics: { admitted: 0, refused: 0, bytes: 0 } };

const bodies = new Map<string, Buffer>();

const PATHS = 12;
const CONTROL = [
  'max-age=60',
  'max-age=0',
  'no-cache',
  'no-store',
  'private',
  'max-age=1, stale-while-revalidate=60',
];

describe('a storm', () => {
  it.each([
    ['memory', 1],
    ['memory and disk', 2],
  ])('over %s, of seed %i, leaves only right bytes and nothing behind', async (kind, seed) => {
    const roll = random(seed);
    const versions = new Map<string, number>();
    const sizes = Array.from(
      { length: PATHS },
      (_, path) => [10, 3000, 70_000, 400_000][path % 4]! + roll(1000),
    );
    await using origin = await startOrigin();
    const script =
      (path: number) =>
      (request: LabRequest): LabAnswer => {
        const name = `/p${path}`;
        if (request.method === 'POST') {
          versions.set(name, (versions.get(name) ?? 0) + 1);
          return { body: 'posted' };
        }
        const language = path % 3 === 0 ? (request.header('accept-language') ?? 'none') : 'none';
        const version = versions.get(name) ?? 0;
        const body = bodyOf(name, language, version, sizes[path]!);
        const etag = `"${version}-${language}"`;
        const headers = ['Cache-Control', CONTROL[path % CONTROL.length]!, 'ETag', etag];
        if (path % 3 === 0) headers.push('Vary', 'Accept-Language');
        const delayMs = roll(4) === 0 ? roll(20) : 0;
        const luck = roll(20);
        if (luck === 0) return { raw: (socket) => socket.destroy(), delayMs };
        if (luck === 1) {
          const head = `HTTP/1.1 200 OK\r\n${toText(headers)}Content-Length: ${body.length}\r\n\r\n`;
          return {
            delayMs,
            raw: (socket) =>
              socket.end(Buffer.concat([Buffer.from(head), body.subarray(0, roll(body.length))])),
          };
        }
        if (luck === 2) return { status: 503, body: 'busy', delayMs };
        if (request.header('if-none-match') === etag) return { status: 304, headers, delayMs };
        const range = /^bytes=(\d+)-(\d*)$/.exec(request.header('range') ?? '');
        const ifRange = request.header('if-range');
        if (range !== null && (ifRange === undefined || ifRange === etag)) {
          const start = Number(range[1]);
          const end = range[2] === '' ? body.length : Math.min(body.length, Number(range[2]) + 1);
          if (start < end) {
            headers.push('Content-Range', `bytes ${start}-${end - 1}/${body.length}`);
            return { status: 206, headers, body: body.subarray(start, end), delayMs };
          }
        }
        return roll(2) === 0 ? { headers, body, delayMs } : { headers, body: inPieces(body, roll), delayMs };
      };
    for (let path = 0; path < PATHS; path++) origin.on(`/p${path}`, script(path));
    const memory = new MemoryStore({
      capacityBytes: 2_000_000,
      maxBodyBytes: kind === 'memory' ? 200_000 : 5000,
    });
    let store: ResponseStore = memory;
    if (kind !== 'memory') {
      const folder = mkdtempSync(join(tmpdir(), 'bloomery-storm-'));
      folders.push(folder);
      const disk = await DiskStore.open({ folder, capacityBytes: 10_000_000 });
      store = await TieredStore.open(memory, disk, { admission: ALL });
    }
    await using lab = await startProxy({ store, limits: { flightWaitMs: 200, storedObjectBytes: 300_000 } });

    let replies = 0;
    let checked = 0;
    let cut = 0;
    const client = async (): Promise<void> => {
      for (let i = 0; i < 15; i++) {
        const path = roll(PATHS);
        const name = `/p${path}`;
        const language = ['en', 'fr'][roll(2)]!;
        const headers = ['Accept-Language', language];
        const size = sizes[path]!;
        let from = 0;
        let to = size;
        if (roll(4) === 0) {
          from = roll(size);
          to = from + 1 + roll(size - from);
          headers.push('Range', `bytes=${from}-${to - 1}`);
        }
        const leaving = new AbortController();
        const timer = roll(6) === 0 ? setTimeout(() => leaving.abort(), roll(15)) : undefined;
        const method = roll(30) === 0 ? 'POST' : 'GET';
        if (method === 'POST') headers.push('Content-Length', '0');
        try {
          const reply = await lab.ask({ method, target: origin.url(name), headers, signal: leaving.signal });
          replies++;
          if (method === 'GET' && (reply.status === 200 || reply.status === 206)) {
            const wanted = path % 3 === 0 ? language : 'none';
            const version = Number(/^"(\d+)-/.exec(reply.header('etag')!)![1]);
            const whole = bodyOf(name, wanted, version, size);
            const expected = reply.status === 206 ? whole.subarray(from, to) : whole;
            if (!reply.body.equals(expected)) {
              throw new Error(
                `Wrong bytes for ${name} ${headers}: ${reply.status} ${reply.rawHeaders} ${reply.text.slice(0, 80)}`,
              );
            }
            checked++;
          } else if (![200, 416, 502, 503].includes(reply.status)) {
            throw new Error(`Status ${reply.status} for ${name}: ${reply.text}`);
          }
        } catch (error) {
          if (error instanceof Error && /Wrong|Status/.test(error.message)) throw error;
          cut++;
        } finally {
          clearTimeout(timer);
        }
      }
    };
    await Promise.all(Array.from({ length: 24 }, client));
    expect(checked).toBeGreaterThan(150);
    expect(cut).toBeGreaterThan(0);
    await eventually(() => lab.proxy.activity.fetches === 0 && lab.proxy.activity.flights === 0);
    await eventually(() => lab.records.length >= replies);
    await eventually(() => memory.inUse.readers === 0 && memory.inUse.pendingBytes === 0);
    expect(lab.events.filter(({ level }) => level === 'error')).toEqual([]);
    expect(rejections).toEqual([]);
  });
});

function toText(headers: readonly string[]): string {
  let text = '';
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return text;
}

async function* inPieces(body: Buffer, roll: (below: number) => number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const size = 1 + roll(50_000);
    yield body.subarray(at, at + size);
    at += size;
    if (roll(3) === 0) await new Promise((resolve) => setTimeout(resolve, roll(5)));
  }
}
