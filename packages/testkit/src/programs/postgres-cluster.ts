/**
 * A real PostgreSQL server (Debian's package `postgresql`) with a cluster of its own in a temporary
 * folder. It listens on a unix socket in that folder and on no port, so that tests cannot disturb
 * each other or a server of the system. PostgreSQL refuses to run as root, so root starts it as
 * `nobody`.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface PostgresSettings {
  /** The password that the superuser `postgres` needs. Without it any connection is trusted. */
  readonly password?: string;
  /** Settings of the server: `{ work_mem: '64MB' }`. */
  readonly config?: Readonly<Record<string, string>>;
}

const VERSIONS = '/usr/lib/postgresql';
const NOBODY = 65534;
const READY = /database system is ready to accept connections/;

export class PostgresCluster implements AsyncDisposable {
  readonly #folder: string;
  readonly #password: string | undefined;
  #child: ChildProcess | null = null;

  private constructor(folder: string, password: string | undefined) {
    this.#folder = folder;
    this.#password = password;
  }

  static async start({ password, config = {} }: PostgresSettings = {}): Promise<PostgresCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-pg-'));
    if (isRoot()) chownSync(folder, NOBODY, NOBODY);
    const cluster = new PostgresCluster(folder, password);
    try {
      await cluster.#initialise();
      await cluster.#run(config);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** The options with which a client of `pg` connects as the superuser. */
  get connection(): { host: string; user: string; database: string; password?: string } {
    const base = { host: this.#folder, user: 'postgres', database: 'postgres' };
    return this.#password === undefined ? base : { ...base, password: this.#password };
  }

  /** The same as a URL, with another password if one is given. */
  url(password = this.#password): string {
    const user = password === undefined ? 'postgres' : `postgres:${password}`;
    return `postgres://${user}@/postgres?host=${encodeURIComponent(this.#folder)}`;
  }

  /** The path of the unix socket. */
  get socket(): string {
    return join(this.#folder, '.s.PGSQL.5432');
  }

  async #initialise(): Promise<void> {
    const words = [
      '-D',
      join(this.#folder, 'data'),
      '-U',
      'postgres',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ];
    if (this.#password !== undefined) {
      const file = join(this.#folder, 'password');
      writeFileSync(file, `${this.#password}\n`);
      if (isRoot()) chownSync(file, NOBODY, NOBODY);
      words.push('-A', 'scram-sha-256', `--pwfile=${file}`);
    } else words.push('-A', 'trust');
    await promisify(execFile)(program('initdb'), words, { cwd: this.#folder, ...unprivileged() });
  }

  async #run(config: Readonly<Record<string, string>>): Promise<void> {
    const settings = {
      listen_addresses: '',
      unix_socket_directories: this.#folder,
      port: '5432',
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      autovacuum: 'off',
      lc_messages: 'C',
      ...config,
    };
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(program('postgres'), ['-D', join(this.#folder, 'data'), ...words], {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...unprivileged(),
    });
    this.#child = child;
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`Cannot start PostgreSQL: got exit code ${code}: ${said.join('\n')}`)),
      );
      createInterface({ input: child.stderr! }).on('line', (line) => {
        if (said.length < 100) said.push(line);
        if (READY.test(line)) resolve();
      });
    });
  }

  /** Ends it at once and removes its folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      // SIGQUIT is PostgreSQL's immediate shutdown, which ends the processes of all connections.
      child.kill('SIGQUIT');
      await gone;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The program of the newest version that is installed. */
function program(name: string): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const path = versions
    .filter((version) => existsSync(join(VERSIONS, version, 'bin/postgres')))
    .sort((x, y) => Number(y) - Number(x))
    .map((version) => join(VERSIONS, version, 'bin', name))[0];
  if (path === undefined)
    throw new Error('Cannot start PostgreSQL: expected its programs (Debian: postgresql), got none');
  return path;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function unprivileged(): { uid?: number; gid?: number } {
  return isRoot() ? { uid: NOBODY, gid: NOBODY } : {};
}
