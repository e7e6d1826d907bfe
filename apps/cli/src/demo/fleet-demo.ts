/**
 * `bloomery cache --demo` (`npm start -- --demo`): three cooperating nodes and an origin on this
 * machine, with traffic, in one terminal. Each scene says what is asked, what happened and what it
 * cost, from counts of this run. Claims are checked: the command ends with 1 if one does not hold.
 *
 * With `--keep`, and by default at a terminal, the fleet stays up and gets traffic after the last
 * scene, for readers who want to ask it themselves or look at its console.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DemoNode } from './demo-node.ts';
import { DemoOrigin } from './demo-origin.ts';
import { DemoReport } from './demo-report.ts';
import { SCENES } from './demo-scenes.ts';
import { keepMoving } from './demo-traffic.ts';

/** 128 plus the number of SIGINT, as in shells. */
const INTERRUPTED = 130;

const NAMES = ['anvil', 'bellows', 'chisel'] as const;

export interface DemoOptions {
  readonly writeLine: (text?: string) => void;
  /** Leaves the fleet running after the last scene, until the signal. */
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

/** Runs the demonstration, and returns the exit code. */
export async function runFleetDemo({ writeLine, keep, signal }: DemoOptions): Promise<number> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-demo-'));
  const origin = await DemoOrigin.start();
  const nodes: DemoNode[] = [];
  // The nodes must not outlive the demonstration, however it ends.
  const end = () => {
    for (const node of nodes) void node.kill();
  };
  process.once('exit', end);
  const report = new DemoReport(writeLine);
  try {
    await startNodes(nodes, origin, folder);
    for (const line of picture(nodes, origin)) writeLine(line);
    writeLine(`The console of ${nodes[1]!.name}: ${nodes[1]!.consoleUrl}`);
    writeLine(
      keep
        ? '(open it now or later: the fleet goes on moving until Ctrl-C)'
        : '(--keep leaves it open, and the fleet moving, until Ctrl-C)',
    );
    for (const scene of SCENES) {
      // What follows a claim that does not hold would only confuse.
      if (signal.aborted || report.hasFailed) break;
      await scene({ nodes, origin, report, signal, began });
    }
    report.conclude(origin.requests);
    if (keep && !signal.aborted) {
      for (const line of invitation(nodes)) writeLine(line);
      await keepMoving(
        nodes.filter(({ isRunning }) => isRunning),
        signal,
      );
    }
    return report.hasFailed ? 1 : 0;
  } catch (error) {
    // Ctrl-C reaches the nodes as well, and breaks off what is being asked of them.
    if (signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    process.off('exit', end);
    await Promise.all(nodes.map((node) => node.kill()));
    await origin.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startNodes(nodes: DemoNode[], origin: DemoOrigin, folder: string): Promise<void> {
  const secretFile = join(folder, 'secret');
  writeFileSync(secretFile, crypto.getRandomValues(Buffer.alloc(32)).toString('base64'), { mode: 0o600 });
  const ports = await freePorts(3 * NAMES.length);
  const peerPorts = ports.slice(NAMES.length, 2 * NAMES.length);
  const adminPorts = ports.slice(2 * NAMES.length);
  const token = crypto.getRandomValues(Buffer.alloc(16)).toString('base64url');
  const started = await Promise.allSettled(
    NAMES.map((name, i) =>
      DemoNode.start({
        name,
        port: ports[i]!,
        peerPort: peerPorts[i]!,
        adminPort: adminPorts[i]!,
        token,
        neighbourPorts: peerPorts.filter((_, other) => other !== i),
        secretFile,
        origin: origin.url,
      }),
    ),
  );
  for (const result of started) if (result.status === 'fulfilled') nodes.push(result.value);
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Ports that are free now, all open at the same time, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer().once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function picture(nodes: readonly DemoNode[], origin: DemoOrigin): string[] {
  const row = (text: (node: DemoNode) => string, gap: string) => `    ${nodes.map(text).join(gap)}`;
  return [
    '',
    'Three caches that know what their neighbours hold, and one origin, all on this machine.',
    '',
    row(() => '    client    ', '      '),
    row(() => '      |       ', '      '),
    row(({ name }) => `+--${name.padEnd(8, '-')}--+`, ' <~~> '),
    row(({ port }) => `|   :${String(port).padEnd(7)} |`, ' <~~> '),
    `${row(() => '+-----+------+', '      ')}      <~~>  summaries`,
    '           \\                  |                  /',
    `            +--------- origin :${new URL(origin.url).port} ---------+`,
    '',
  ].map((line) => line.trimEnd());
}

function invitation(all: readonly DemoNode[]): string[] {
  const nodes = all.filter(({ isRunning }) => isRunning);
  const killed = all.filter(({ isRunning }) => !isRunning).map(({ name }) => name);
  return [
    '',
    'The fleet stays up until Ctrl-C. Ask it:',
    ...nodes.map(
      ({ name, url, pid }) => `  ${name.padEnd(8)} ${url}/objects/my-photo/20000   (process ${pid})`,
    ),
    `  bloomery cache peers --node ${nodes[0]!.adminUrl}`,
    'Or look at it, while clients go on asking for objects:',
    ...nodes.map(({ name, consoleUrl }) => `  ${name.padEnd(8)} ${consoleUrl}`),
    ...killed.map((name) => `Their page Neighbours shows ${name}, which was killed, as down.`),
  ];
}
