/**
 * Kills of a running collector: `bloomery digestd` reads a pipe to which a packet is written every
 * ten milliseconds, and is ended by SIGKILL at a random moment. Afterwards its folder is opened,
 * and each packet is asked for: the oldest one that is missing says how much a kill costs.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CaptureWriter } from '@bloomery/packets/capture';
import { Collector } from '@bloomery/packets/traceback';

const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const ETHERNET = Uint8Array.of(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0);
const EVERY_MS = 10;
const JOURNAL_HEAD_BYTES = 36;

export interface Kill {
  readonly packets: number;
  readonly lost: number;
  /** Time from the oldest packet that was lost to the kill. */
  readonly lossMs: number;
  /** Whether a packet is there that came after one that was lost. */
  readonly hasHole: boolean;
}

/** A UDP packet over IPv4, told apart by its number. */
function packetOf(number: number): Uint8Array {
  const packet = new Uint8Array(100);
  packet.set([0x45, 0, 0, 100, number >> 8, number, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
  new DataView(packet.buffer).setUint32(40, number);
  return packet;
}

export async function killOnce(folder: string, afterMs: number): Promise<Kill> {
  const words = [COMMAND, 'digestd', '--dir', folder, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  child.stdout.resume();
  const writer = new CaptureWriter({ format: 'pcap' });
  const sentMs: number[] = [];
  const startS = Math.floor(Date.now() / 1000);
  const timer = setInterval(() => {
    const bytes = Uint8Array.from([...ETHERNET, ...packetOf(sentMs.length)]);
    writer.add({ seconds: startS, nanoseconds: 0, bytes });
    child.stdin.write(writer.take());
    sentMs.push(performance.now());
  }, EVERY_MS);
  // The time counts from the first digest on disk: programs start slowly on a busy machine.
  const journal = join(folder, 'packets', 'open.journal');
  while (statSync(journal).size <= JOURNAL_HEAD_BYTES) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  clearInterval(timer);
  child.kill('SIGKILL');
  const killedMs = performance.now();
  await ended;
  const collector = Collector.open({ folder, key: readFileSync(join(folder, 'key')) });
  const found: boolean[] = [];
  for (let number = 0; number < sentMs.length; number++)
    found.push((await collector.seen(packetOf(number), { firstS: 0, lastS: 1e11 })).seen);
  collector.close();
  const first = found.indexOf(false);
  return {
    packets: sentMs.length,
    lost: found.filter((seen) => !seen).length,
    lossMs: first < 0 ? 0 : killedMs - sentMs[first],
    hasHole: first >= 0 && found.includes(true, first),
  };
}
