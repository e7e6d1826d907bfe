/**
 * `sign`: vouches for a filter, a delta or a text index that others download. The signature is a
 * small file beside it (docs/spec/signature.md), and `verify --signed-by` checks it. `--generate`
 * makes the pair of keys.
 */

import { existsSync, readFileSync } from 'node:fs';
import { FolderLock } from '@bloomery/files';
import { readSignature } from 'bloomery/signing';
import type { Command } from 'commander';
import { parseCount, withExamples, withForce, withJson } from '../command-options.ts';
import { checkOutput, finishOutput } from '../conversion/made-file.ts';
import { signaturePath } from '../signing/check-publication.ts';
import { indexedFolder, indexFiles, indexPlace } from '../signing/index-digest.ts';
import { generateKeys, readSigner } from '../signing/key-files.ts';
import { isFolder, type SignOptions, signFile, signIndex } from '../signing/published.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { ManifestError, readManifest } from '../text/index-manifest.ts';
import { UsageError } from '../usage-error.ts';

interface SignCommandOptions {
  readonly key?: string;
  readonly generate?: string;
  readonly output?: string;
  readonly epoch?: number;
  readonly name?: string;
  readonly proofs?: boolean;
  readonly base?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('sign')
    .description('sign a filter, a delta or a text index, for others to verify; or make a pair of keys')
    .argument('[file]', 'a filter or a delta of bloomery, or a folder with an index')
    .option('--generate <file>', 'make a pair of keys: FILE is the private one, FILE.pub the public one')
    .option('--key <file>', 'the private key, which only its owner can read: Ed25519 in PEM')
    .option('-o, --output <file>', 'where the signature goes (default: FILE.sig); - is standard output')
    .option(
      '--epoch <number>',
      'a number that rises with each publication (default: seconds since 1970)',
      parseCount(0),
    )
    .option('--name <text>', 'what this is called, so that no other file of yours can take its place')
    .option('--base <filter>', 'the filter that a delta starts from')
    .option('--proofs', 'sign a tree of hashes as well, so that holders can prove single answers')
    .addHelpText('after', HELP)
    .action(run);
  withJson(withForce(command, 'a signature that exists already'));
  withExamples(command, [
    [
      'bloomery sign --generate publisher',
      'a pair of keys: publisher stays secret, publisher.pub is for everyone',
    ],
    ['bloomery sign words.blm --key publisher --name words', 'writes words.blm.sig'],
    ['bloomery verify words.blm --signed-by publisher.pub --name words', 'what the others do'],
    ['bloomery sign /var/log/app --key publisher', 'the text index of a folder'],
  ]);
}

async function run(file: string | undefined, options: SignCommandOptions): Promise<void> {
  if (options.generate !== undefined) {
    if (file !== undefined || options.key !== undefined) {
      throw new UsageError('--generate makes keys and signs nothing; sign with --key afterwards');
    }
    return makeKeys(options.generate, options.json === true);
  }
  if (file === undefined || options.key === undefined) {
    throw new UsageError('expected a file and --key; bloomery sign --generate FILE makes a key');
  }
  await signOne(file, { ...options, key: options.key });
}

function makeKeys(path: string, json: boolean): void {
  const made = generateKeys(path);
  if (json) writeJson(made);
  else if (isTerminal(2)) {
    process.stderr.write(
      `${made.privateKey} is the private key: keep it, and a copy of it, where only you can read it\n` +
        `${made.publicKey} is the public key: give it to everyone who is to verify\n`,
    );
  }
}

async function signOne(file: string, options: SignCommandOptions & { readonly key: string }): Promise<void> {
  if (file === '-' && options.output === undefined) {
    throw new UsageError('the signature of standard input has no name; -o says where it goes');
  }
  const { force = false, json = false } = options;
  const output = { output: options.output ?? signaturePath(file), force, json };
  checkOutput(output);
  const epoch = options.epoch ?? Math.floor(Date.now() / 1000);
  checkFormer(output.output, epoch);
  const signing: SignOptions = {
    epoch,
    name: checkName(options.name ?? ''),
    proofs: options.proofs === true,
    base: options.base,
    sign: readSigner(options.key),
  };
  const bytes = isFolder(file) ? await signFolder(file, signing) : await signFile(file, signing);
  const { structure, name, length, sha256, root } = readSignature(bytes).statement;
  const hex = (digest: Uint8Array) => Buffer.from(digest).toString('hex');
  const report = { structure, name, epoch, length, sha256: hex(sha256), root: root && hex(root) };
  finishOutput(output, bytes, report, [`${output.output}: ${structure}, epoch ${epoch}`]);
}

/** Signs an index while no run of `bloomery index` can change it. */
async function signFolder(path: string, options: SignOptions): Promise<Uint8Array> {
  const folder = indexedFolder(path);
  if (options.proofs || options.base !== undefined) {
    throw new UsageError(`--proofs and --base are for filters, and ${path} is a folder`);
  }
  const files = indexFiles(folder);
  const lock = await FolderLock.take(indexPlace(folder));
  try {
    const known = listedFiles(folder);
    if (files.some((name) => !known.has(name)) || [...known].some((name) => !files.includes(name))) {
      throw new UsageError(`${folder}: the index was left half-way; bloomery index ${folder} tidies it up`);
    }
    return await signIndex(folder, options);
  } finally {
    lock.release();
  }
}

function listedFiles(folder: string): Set<string> {
  try {
    return new Set(readManifest(folder)?.indexes.map(({ name }) => name));
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    throw new UsageError(`${error.message}; bloomery index ${folder} makes it again`, { cause: error });
  }
}

/** Clients refuse an epoch that does not rise. So does this command, if it can see the former. */
function checkFormer(path: string, epoch: number): void {
  if (path === '-' || !existsSync(path)) return;
  let former: number;
  try {
    former = readSignature(Uint8Array.from(readFileSync(path))).statement.epoch;
  } catch {
    return; // Some other file, which --force replaces.
  }
  if (former >= epoch) {
    throw new UsageError(
      `${path} has epoch ${former} already; --epoch must be higher than that, got ${epoch}`,
    );
  }
}

function checkName(name: string): string {
  if (/^[\x20-\x7e]{0,255}$/.test(name)) return name;
  throw new UsageError('--name must have at most 255 characters of printable ASCII');
}

const HELP = `
The signature covers the structure, the name, the epoch, and the length and SHA-256 of the plain filter. So it serves the
filter as it is, its coded form (bloomery encode) and every delta that leads to it. Sign each state once.`;
