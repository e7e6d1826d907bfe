/**
 * `fetch`: a file by its digest, from peers that have parts of it and from an origin.
 * packages/delivery has all of it; this is the process around it: peers, the bar, signals.
 */

import { basename } from 'node:path';
import { BlockServer, DeliveryError, type DeliveryReport, fetchFrom } from '@bloomery/delivery';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseBytes, parseDuration, withExamples, withForce, withJson } from '../command-options.ts';
import {
  joinNats,
  type ListenAddress,
  type PeerOptions,
  parseListen,
  parsePeer,
  peerSource,
  withNats,
} from '../delivery/peer-sources.ts';
import { drawSources, sourceWords } from '../delivery/source-bar.ts';
import { formatBytes, formatSeconds } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface FetchOptions extends PeerOptions {
  readonly output?: string;
  readonly digest?: string;
  readonly origin?: string;
  readonly listen?: ListenAddress;
  readonly linger: number;
  readonly limitUp?: number;
  readonly limitDown?: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

const LINGER_MS = 30_000;

export function register(program: Command): void {
  const command = program
    .command('fetch')
    .description('fetch a file by its digest, from peers that have parts of it and from an origin')
    .argument('<what>', 'the SHA-256 of the file, or the URL of an origin')
    .option('--digest <sha256>', 'the SHA-256 of the file, if the argument is a URL', parseDigest)
    .option('-o, --output <file>', 'where the file goes (default: the name in the URL)')
    .option('--peer <address>', 'a node that has parts of the file; several times', parsePeer, [])
    .option('--peers-dns <name>', 'a name in the DNS that lists such nodes')
    .option('--origin <url>', 'a web server that has the file and sends ranges')
    .option('--listen <host:port>', 'where others get from here what is there already', parseListen)
    .addOption(
      new Option('--linger <time>', 'with --listen: serve nodes that still fetch, at most for this time')
        .argParser(parseDuration)
        .default(LINGER_MS, '30s'),
    )
    .option('--limit-up <bytes>', 'bytes per second that are sent at most', parseBytes)
    .option('--limit-down <bytes>', 'bytes per second that are fetched at most', parseBytes)
    .addHelpText('after', HELP)
    .action(fetchFile);
  withJson(withForce(withNats(command)));
  withExamples(command, [
    [
      'bloomery fetch "$DIGEST" --peer 127.0.0.1:4790 -o model.bin',
      'from one node that has it (bloomery seed)',
    ],
    [
      'bloomery fetch https://files.example/model.bin --digest "$DIGEST" --listen :4790 --peers-dns nodes.example',
      'on every machine of a fleet: the origin sends little more than one copy',
    ],
  ]);
}

const HELP = `
The same command goes on where an earlier one ended, even after kill -9. The file gets its name when all of it is there and has the digest;
until then it is in FILE.bloomery-part. The bar shows where each part came from: # the origin, a letter for each peer, = an earlier
run. docs/guide/delivery.md tells more.`;

async function fetchFile(what: string, options: FetchOptions): Promise<void> {
  const { digest, origin, output } = targetOf(what, options);
  const { listen, limitUp, limitDown, linger, force = false, json = false } = options;
  if (
    origin === null &&
    options.peer.length === 0 &&
    options.peersDns === undefined &&
    options.nats === undefined
  )
    throw new UsageError('no source is named; --peer, --peers-dns, --nats or --origin names one');
  const held = holdSignals();
  const began = performance.now();
  let server: BlockServer | null = null;
  let transport: Awaited<ReturnType<typeof joinNats>> = null;
  let stopDrawing = () => {};
  try {
    if (listen !== undefined)
      server = await BlockServer.start({ ...listen, limits: { bytesPerSecond: limitUp ?? null } });
    const own = server === null ? null : { host: listen!.host, port: server.port };
    transport = await joinNats(options, own);
    const peers = peerSource(options, transport, own);
    try {
      await fetchFrom(peers, digest, {
        path: output,
        force,
        origin,
        server,
        lingerMs: server === null ? 0 : linger,
        limits: { bytesPerSecond: limitDown ?? null },
        signal: held.stop,
        event: tellEvent,
        started: (report) => {
          stopDrawing = drawSources(report, !json);
        },
        done: (report) => {
          stopDrawing();
          tellDone(report, output, (performance.now() - began) / 1000, json);
        },
      });
    } finally {
      stopDrawing();
      if ('members' in peers) peers.close();
    }
  } catch (error) {
    if (!held.stop.aborted) throw asUsageError(error);
    warn('interrupted; the same command goes on from here');
  } finally {
    await transport?.close();
    await server?.[Symbol.asyncDispose]();
    held.close();
  }
}

interface Target {
  readonly digest: string;
  readonly origin: string | null;
  readonly output: string;
}

/** The three things that the argument may name. */
function targetOf(what: string, { digest, origin, output }: FetchOptions): Target {
  if (/^https?:\/\//i.test(what) && URL.canParse(what)) {
    if (digest === undefined)
      throw new UsageError(`--digest is missing; it says which file ${what} should be (sha256sum prints it)`);
    if (origin !== undefined)
      throw new UsageError('the origin is named twice: as the argument and by --origin');
    const name = output ?? basename(new URL(what).pathname);
    if (name === '') throw new UsageError(`${what} has no name for the file; -o gives it one`);
    return { digest, origin: what, output: name };
  }
  if (digest !== undefined)
    throw new UsageError('the digest is named twice: as the argument and by --digest');
  if (output === undefined) throw new UsageError('the name of the file is missing; -o gives it');
  const named = digestOf(what);
  if (named === null)
    throw new UsageError(`${JSON.stringify(what)} is neither a URL nor a digest; ${DIGEST_FORM}`);
  return { digest: named, origin: origin ?? null, output };
}

function tellEvent(_: 'info' | 'warn', name: string, { peer, why, list }: Record<string, unknown>): void {
  if (name === 'peer-banned') warn(`${peer} is no longer asked: it ${why}`);
  else if (name === 'origin-dropped') warn(`the origin is no longer asked: ${why}`);
  else if (name === 'list-contested')
    warn(`a block of the origin does not fit the list ${String(list).slice(0, 16)}`);
}

function tellDone(report: DeliveryReport, output: string, seconds: number, json: boolean): void {
  if (json) {
    const { origins: _, ...figures } = report;
    writeJson({ file: output, seconds, ...figures });
    return;
  }
  const size = formatBytes(report.size ?? 0);
  if (report.originBytes + report.peerBytes === 0) writeLine(`${output}: ${size}, was there already`);
  else writeLine(`${output}: ${size} in ${formatSeconds(seconds)}: ${sourceWords(report)}`);
}

const DIGEST_FORM = 'a SHA-256 has 64 hexadecimal digits, as sha256sum prints it';

function digestOf(text: string): string | null {
  const digest = text.replace(/^sha256:/i, '').toLowerCase();
  return /^[0-9a-f]{64}$/.test(digest) ? digest : null;
}

function parseDigest(text: string): string {
  const digest = digestOf(text);
  if (digest === null) throw new InvalidArgumentError(`Expected a digest: ${DIGEST_FORM}.`);
  return digest;
}

/** Errors that the user can mend are told in one line. */
function asUsageError(error: unknown): unknown {
  if (!(error instanceof DeliveryError)) return error;
  const hint = error.code === 'exists' ? '; --force replaces it' : '';
  return new UsageError(`${error.message}${hint}`, { cause: error });
}
