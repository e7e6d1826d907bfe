/**
 * `seed`: serves files to clients that fetch them by their digest. packages/delivery has all of it;
 * this is the process around it.
 */

import { BlockServer, SeededFile, WholeFile } from '@bloomery/delivery';
import { type Command, Option } from 'commander';
import { parseBytes, withExamples, withJson } from '../command-options.ts';
import {
  DEFAULT_PORT,
  joinNats,
  type ListenAddress,
  type NatsOptions,
  parseListen,
  urlOf,
  withNats,
} from '../delivery/peer-sources.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';

interface SeedOptions extends NatsOptions {
  readonly listen: ListenAddress;
  readonly limitUp?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('seed')
    .description('serve files, so that others fetch them by their digest from here and from each other')
    .argument('<files...>', 'the files')
    .addOption(
      new Option('--listen <host:port>', 'where others fetch; :4790 is all addresses of this machine')
        .argParser(parseListen)
        .default({ host: '127.0.0.1', port: DEFAULT_PORT }, `127.0.0.1:${DEFAULT_PORT}`),
    )
    .option('--limit-up <bytes>', 'bytes per second that are sent at most', parseBytes)
    .addHelpText('after', HELP)
    .action(seed);
  withJson(withNats(command));
  withExamples(command, [
    ['bloomery seed model.bin', 'prints the digest, and the command that fetches the file on this machine'],
    ['bloomery seed --listen :4790 --limit-up 10MB model.bin', 'for other machines, with at most 80 Mb/s'],
  ]);
}

const HELP = `
A file is named by its SHA-256, so those who fetch it need not trust those who serve it. A host that reaches the port and knows a digest gets
the file. A file must not change while it is served; one that does is no longer served. docs/guide/delivery.md tells more.`;

async function seed(paths: string[], options: SeedOptions): Promise<void> {
  const { listen, limitUp, json = false } = options;
  const held = holdSignals();
  const files: WholeFile[] = [];
  let server: BlockServer | undefined;
  let transport: Awaited<ReturnType<typeof joinNats>> = null;
  try {
    for (const path of paths) {
      const progress = startProgress({ what: `hashing ${path}`, enabled: !json });
      let before = 0;
      const read = (bytes: number) => {
        progress.advance(bytes - before);
        before = bytes;
      };
      try {
        files.push(await WholeFile.open(path, { signal: held.stop, read }));
      } finally {
        progress.stop();
      }
    }
    server = await BlockServer.start({ ...listen, limits: { bytesPerSecond: limitUp ?? null } });
    const own = { host: listen.host, port: server.port };
    for (const file of files) server.share(new SeededFile(file));
    transport = await joinNats(options, own);
    tellFiles(files, own, json);
    if (!held.stop.aborted)
      await new Promise((resolve) => held.stop.addEventListener('abort', resolve, { once: true }));
    const { sentBytes, refused } = server.status;
    if (json) writeJson({ sentBytes, refused });
    else writeLine(`sent ${formatBytes(sentBytes)}, refused ${formatCount(refused)} requests`);
  } catch (error) {
    if (!held.stop.aborted) throw error;
  } finally {
    await transport?.close();
    await server?.[Symbol.asyncDispose]();
    for (const file of files) await file.close();
    held.close();
  }
}

function tellFiles(files: readonly WholeFile[], own: ListenAddress, json: boolean): void {
  const address = urlOf(own);
  for (const { path, digest, shape } of files)
    if (json) writeJson({ file: path, digest, size: shape.size, blocks: shape.blocks, address });
    else writeLine(`${digest}  ${path}`);
  if (json) return;
  const host = own.host === '0.0.0.0' || own.host === '::' ? 'THIS-MACHINE' : own.host;
  const peer = `${host.includes(':') ? `[${host}]` : host}:${own.port}`;
  writeLine(`serves at ${address} until Ctrl-C; fetch with:`);
  for (const { digest } of files) writeLine(`  bloomery fetch ${digest} --peer ${peer} -o FILE`);
}
