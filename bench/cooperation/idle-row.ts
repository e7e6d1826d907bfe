/**
 * An idle fleet: what its nodes cost when no client asks. Measured over a minute in which nothing
 * happens but heartbeats and timers: the CPU time of each process, and all bytes between the nodes
 * as the kernel counts them (idle-process.ts).
 *
 * A link is a pair of nodes, and its bytes are those of both directions. Over NATS no bytes go from
 * node to node, so those between all nodes and the server are divided by the number of pairs.
 */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { met, quantile } from './bench-fleet.ts';

export interface IdleOrder {
  readonly way: 'http' | 'nats';
  readonly nodes: number;
  readonly seconds: number;
}

/** All of it per second. */
export interface MeasuredIdle {
  /** CPU time of each node. */
  readonly cpuMs: readonly number[];
  /** CPU time of the NATS server, or null if there is none. */
  readonly serverCpuMs: number | null;
  /** Bytes and packets of all nodes, with the heads of TCP, IP and the link layer. */
  readonly bytes: number;
  readonly packets: number;
  readonly residentBytes: readonly number[];
}

const PROGRAM = fileURLToPath(new URL('./idle-process.ts', import.meta.url));
const NAMES = { http: 'HTTP, streams', nats: 'NATS' } as const;
const MOST_CPU_MS = 5;
const MOST_BYTES = 200;

export function idleTable(isQuick: boolean): string[] {
  const size = isQuick ? { nodes: 8, seconds: 20 } : { nodes: 64, seconds: 60 };
  const lines = [
    `${size.nodes} processes on loopback, with a disk and 20 objects each, for ${size.seconds} s in which no client asks. CPU time is that of /proc/PID/stat; bytes are those on the loopback device of a network namespace that only the fleet is in, with the heads of TCP and IP. A link is a pair of nodes, in both directions.`,
    '',
    '| fleet | nodes | links | CPU of a node, median | highest | wanted | bytes per second and link | wanted | packets per second and link | CPU of the server | memory of a node |',
    '|---|---:|---:|---:|---:|---|---:|---|---:|---:|---:|',
  ];
  for (const way of ['http', 'nats'] as const) lines.push(row({ way, ...size }));
  return lines;
}

function row(order: IdleOrder): string {
  const { cpuMs, serverCpuMs, bytes, packets, residentBytes } = measured(order);
  const { way, nodes } = order;
  const links = (nodes * (nodes - 1)) / 2;
  const most = Math.max(...cpuMs);
  return `| ${[
    NAMES[way],
    nodes,
    links.toLocaleString('en'),
    perSecond(quantile(cpuMs, 0.5)),
    perSecond(most),
    `at most ${MOST_CPU_MS} ms/s: ${met(most <= MOST_CPU_MS)}`,
    (bytes / links).toFixed(0),
    `at most ${MOST_BYTES}: ${met(bytes / links <= MOST_BYTES)}`,
    (packets / links).toFixed(2),
    serverCpuMs === null ? '–' : perSecond(serverCpuMs),
    `${(quantile(residentBytes, 0.5) / 1e6).toFixed(0)} MB`,
  ].join(' | ')} |`;
}

function perSecond(ms: number): string {
  return `${ms.toFixed(1)} ms/s`;
}

/** Runs in a namespace, which needs root or a kernel that lets users make namespaces. */
function measured(order: IdleOrder): MeasuredIdle {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const command = [process.execPath, ...process.execArgv, PROGRAM, JSON.stringify(order)];
  const said = execFileSync('unshare', [...asRoot, '--net', '--', ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(said) as MeasuredIdle;
}
