/**
 * The process that measures an idle fleet (idle-row.ts). It runs in a network namespace of its own,
 * together with the nodes that it starts, and prints one line of JSON.
 *
 * Bytes are those that the kernel counts on the loopback device of that namespace. No other program
 * is in it, so each packet belongs to the fleet, and heads of TCP and IP, acknowledgements and
 * keep-alives are counted. Counters of the nodes would leave these out, and a relay on each of
 * 4,032 streams would be as busy as the fleet.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import type { Fleet } from '../../packages/testkit/src/fleet/fleet.ts';
import { knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { NatsServer } from '../../packages/testkit/src/programs/nats-server.ts';
import { processCpuMs } from '../../packages/testkit/src/programs/process-cpu.ts';
import { startBenchFleet } from './bench-fleet.ts';
import type { IdleOrder, MeasuredIdle } from './idle-row.ts';

/** Processes that start at a time. */
const AT_ONCE = 4;
/** Objects that each node offers, so that there are summaries to keep current. */
const OBJECTS = 20;
/** After this time the answers of the start, and the compiler's work on them, are done. */
const REST_MS = 60_000;

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2]!) as IdleOrder;
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  await using origin = await ThrottledOrigin.start();
  await using server = order.way === 'nats' ? await NatsServer.start() : null;
  const nats = server === null ? {} : { peer: [], nats: server.url };
  await using fleet = await startBenchFleet({
    nodes: order.nodes,
    origin: origin.url,
    atOnce: AT_ONCE,
    settings: (index, folder) => ({ disk: join(folder, `disk-${index}`), ...nats }),
  });
  for (const { port, name } of fleet.nodes)
    for (let at = 0; at < OBJECTS; at++) await checkedGet(port, knownPath(`${name}/${at}`, 1000));
  await pause(REST_MS);
  const measured = await measure(fleet, order.seconds, server?.pid);
  await fleet.untilCurrent();
  console.log(JSON.stringify(measured));
}

async function measure({ nodes }: Fleet, seconds: number, serverPid?: number): Promise<MeasuredIdle> {
  const pids = nodes.map(({ pid }) => pid);
  const cpu = () => [...pids, ...(serverPid === undefined ? [] : [serverPid])].map(processCpuMs);
  const began = performance.now();
  const before = { cpu: cpu(), sent: loopback() };
  await pause(1000 * seconds);
  const after = { cpu: cpu(), sent: loopback() };
  const tookSeconds = (performance.now() - began) / 1000;
  const cpuMs = after.cpu.map((ms, at) => (ms - before.cpu[at]!) / tookSeconds);
  return {
    cpuMs: cpuMs.slice(0, pids.length),
    serverCpuMs: cpuMs[pids.length] ?? null,
    bytes: (after.sent.bytes - before.sent.bytes) / tookSeconds,
    packets: (after.sent.packets - before.sent.packets) / tookSeconds,
    residentBytes: pids.map(residentBytes),
  };
}

/** Bytes and packets that left through the loopback device so far. */
function loopback(): { readonly bytes: number; readonly packets: number } {
  const line = /^\s*lo:(.*)$/m.exec(readFileSync('/proc/net/dev', 'utf8'))![1]!;
  const fields = line.trim().split(/\s+/).map(Number);
  return { bytes: fields[8]!, packets: fields[9]! };
}

function residentBytes(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await main();
