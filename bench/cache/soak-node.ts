/**
 * The node of a soak: in a process of its own, with the probe in it (soak-probe.mjs), and its
 * descriptors counted in /proc.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SoakSample } from './soak.ts';

const PROBE = new URL('./soak-probe.mjs', import.meta.url).href;

/** A message of soak-probe.mjs. */
interface ProbeAnswer {
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  readonly loop: { readonly p99: number };
}

export class SoakNode {
  readonly port: number;
  readonly complaints: string[];
  readonly #child: ChildProcess;
  readonly #gone: Promise<number | null>;

  private constructor(child: ChildProcess, port: number, complaints: string[], gone: Promise<number | null>) {
    this.#child = child;
    this.port = port;
    this.complaints = complaints;
    this.#gone = gone;
  }

  static async start(
    folder: string,
    originPort: number,
    { memory, disk }: { memory: number; disk: number },
    program: (settings: Record<string, unknown>) => string[],
  ): Promise<SoakNode> {
    const args = program({
      listen: ['127.0.0.1:0'],
      upstream: [`/=http://127.0.0.1:${originPort}/`],
      memory: String(memory),
      disk: join(folder, 'disk'),
      diskSize: String(disk),
      logFormat: 'json',
    });
    const child = spawn(process.execPath, ['--expose-gc', '--import', PROBE, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const gone = new Promise<number | null>((resolve) => child.once('close', resolve));
    const complaints: string[] = [];
    const port = await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no node after 30 s')), 30_000);
      createInterface({ input: child.stderr! }).on('line', (line) => {
        const entry = line.startsWith('{') ? JSON.parse(line) : { level: 'error' };
        // Evicted between being found and being read: it is fetched again, and no client notices.
        const evicted = entry.event === 'stored-body-failed' && entry.code === 'gone';
        if (entry.level !== 'info' && entry.level !== 'debug' && !evicted) complaints.push(line);
        if (entry.event !== 'listening') return;
        clearTimeout(timer);
        resolve(Number(/:(\d+)$/.exec(entry.addresses[0])?.[1]));
      });
      void gone.then((code) => reject(new Error(`the node ended with ${code}: ${complaints.join('\n')}`)));
    });
    return new SoakNode(child, port, complaints, gone);
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async sample(): Promise<Omit<SoakSample, 'at' | 'requests' | 'p50Ms' | 'p99Ms'>> {
    const { heapUsed, external, rss, loop } = await this.#probe();
    const { stores } = await this.#status();
    return {
      heap: heapUsed,
      external,
      rss,
      sockets: this.sockets(),
      files: this.#links().filter((link) => link.startsWith('/') && !link.startsWith('/dev/')).length,
      memoryBytes: stores.memory?.bytes ?? 0,
      diskBytes: stores.disk?.bytes ?? 0,
      loopP99Ms: loop.p99,
    };
  }

  sockets(): number {
    return this.#links().filter((link) => link.startsWith('socket:')).length;
  }

  deletedFiles(): number {
    return this.#links().filter((link) => link.startsWith('/') && link.endsWith(' (deleted)')).length;
  }

  async evictions(): Promise<Record<string, number>> {
    const { stores } = await this.#status();
    return Object.fromEntries(Object.entries(stores).map(([name, { evictions }]) => [name, evictions]));
  }

  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 20_000);
    const code = await this.#gone;
    clearTimeout(timer);
    return code;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#gone;
  }

  #probe(): Promise<ProbeAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the probe does not answer')), 30_000);
      this.#child.once('message', (message) => {
        clearTimeout(timer);
        resolve(message as ProbeAnswer);
      });
      this.#child.send('sample');
    });
  }

  async #status(): Promise<{ stores: Record<string, { bytes: number; evictions: number }> }> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/.bloomery/status`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(20_000),
    });
    return (await answer.json()) as { stores: Record<string, { bytes: number; evictions: number }> };
  }

  #links(): string[] {
    const folder = `/proc/${this.#child.pid}/fd`;
    const links: string[] = [];
    for (const name of readdirSync(folder)) {
      try {
        links.push(readlinkSync(join(folder, name)));
      } catch {
        // Closed meanwhile.
      }
    }
    return links;
  }
}
