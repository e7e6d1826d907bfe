/**
 * `contacts`: address books that friends compare. `@bloomery/overlay/private` does the work;
 * docs/guide/private.md says what each way tells whom, and docs/spec has the bytes.
 *
 * A friend gets a keyed filter of the user's contacts, by mail or as a file, and asks it whether a
 * sender is known (LOAF). A friend who may learn the common contacts only runs `overlap` with us,
 * over a program that the user names after `--`, such as ssh, as for `reconcile`.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  attachPart,
  findPart,
  keyedFilter,
  normalizeAddress,
  paddedSize,
  sealFilter,
  senderOf,
  withFields,
} from '@bloomery/overlay/private';
import { ristretto255 } from '@bloomery/overlay/private/sodium';
import { type Command, Option } from 'commander';
import {
  parseCount,
  parseRate,
  parseSeconds,
  withExamples,
  withForce,
  withJson,
  withOutput,
} from '../command-options.ts';
import { type ContactFileOptions, readContactFiles } from '../contacts/contact-files.ts';
import { keepShare, readFriends } from '../contacts/friends-folder.ts';
import { isKnown, KNOWN_FIELD, knownField, knowsAddress, knowsSender } from '../contacts/known-sender.ts';
import { runOverlap } from '../contacts/run-overlap.ts';
import { FOUND, NOT_FOUND } from '../exit-codes.ts';
import { readKeyBytes } from '../files/secret-key-file.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { standardConnection, startProgram } from '../reconciling/connection.ts';
import { describeError } from '../terminal/error-text.ts';
import { formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const contacts = program
    .command('contacts')
    .description('share address books privately: does a friend know this sender, whom do both know');
  registerMaking(contacts);
  registerAsking(contacts);
  registerOverlap(contacts);
  withExamples(contacts, [
    [
      'bloomery contacts filter ~/Mail/Sent --key-file bob.key --from ann@example.org -o for-bob.share',
      "a filter of Ann's contacts that only Bob can ask",
    ],
    ['bloomery contacts check --friends ~/friends eve@example.net', 'does a friend know this address?'],
    [
      'bloomery contacts overlap contacts.vcf -- ssh host bloomery contacts overlap --serve contacts.vcf',
      'common contacts, and nothing else',
    ],
  ]);
}

function withContactFiles(command: Command): Command {
  return command
    .addOption(
      new Option('--format <name>', 'what the files are, instead of finding out').choices([
        'vcard',
        'csv',
        'mbox',
        'lines',
      ]),
    )
    .option('--column <name>', 'the column of a CSV file; default: all with "mail" in their names')
    .option('--fields <names>', 'fields of mails that count; default: to,cc,bcc');
}

// Making: list, filter, attach.

interface FilterOptions extends ContactFileOptions {
  readonly keyFile: string;
  readonly from: string;
  readonly rate: number;
  readonly pad?: boolean;
  readonly output: string;
  readonly force?: boolean;
}

function registerMaking(contacts: Command): void {
  const list = contacts
    .command('list')
    .argument('<file...>', 'vCards, CSV, mailboxes or lists of addresses; - is standard input')
    .description('print the addresses of files, each in its one spelling')
    .action((files: string[], options: ContactFileOptions & { json?: boolean }) => {
      const addresses = readContactFiles(files, options);
      if (options.json) writeJson({ addresses });
      else for (const address of addresses) writeLine(address);
    });
  withExamples(withJson(withContactFiles(list)), [
    ['bloomery contacts list contacts.vcf', 'whom would I share?'],
  ]);
  const filter = contacts
    .command('filter')
    .argument('<file...>', 'vCards, CSV, mailboxes or lists of addresses; - is standard input')
    .description('make a filter of contacts for one friend, who alone can ask it')
    .requiredOption('--key-file <file>', 'the secret that both share: 16 bytes, or 32 hexadecimal digits')
    .requiredOption('--from <address>', 'the own address, under which the friend keeps the filter')
    .option('--rate <rate>', 'share of other addresses that it has by mistake', parseRate, 0.001)
    .option('--pad', 'hide the number of contacts, up to the next power of two')
    .action(makeFilter);
  withExamples(withOutput(withContactFiles(filter), 'the sealed filter'), [
    ['head -c 16 /dev/urandom > bob.key', 'a secret, which Bob gets on a safe way'],
    [
      'bloomery contacts filter contacts.vcf --key-file bob.key --from ann@example.org -o for-bob.share',
      'the filter for Bob',
    ],
  ]);
  const attach = contacts
    .command('attach')
    .argument('<share>', 'a file that `contacts filter` made')
    .description('add a filter to a mail on standard input, as a MIME part')
    .action((share: string) => {
      const mail = readMail();
      write(Buffer.from(attachPart(mail, readFileSync(share), newBoundary(mail)), 'latin1'));
    });
  withExamples(attach, [
    ['bloomery contacts attach for-bob.share < mail.eml | sendmail -t', 'as a mail program sends it'],
  ]);
}

function makeFilter(files: string[], options: FilterOptions): void {
  checkTarget(options.output, options);
  const from = normalizeAddress(options.from);
  if (from === null) throw new UsageError(`--from must be an address, got ${options.from}`);
  const secret = readKeyBytes(options.keyFile);
  const addresses = readContactFiles(files, options);
  const filter = keyedFilter(addresses, {
    secret,
    from,
    falsePositiveRate: options.rate,
    ...(options.pad && { padTo: paddedSize(addresses.length) }),
  });
  const issued = Math.floor(Date.now() / 1000);
  writeTarget(options.output, sealFilter(filter, { secret, from, issued }), options);
}

/** A delimiter that is not in the mail: 24 random hexadecimal digits are not there by chance. */
function newBoundary(mail: string): string {
  for (;;) {
    const boundary = `bloomery-${randomBytes(12).toString('hex')}`;
    if (!mail.includes(boundary)) return boundary;
  }
}

// Asking: receive, check, mark.

interface FriendsOptions {
  readonly friends: string;
  readonly own?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

function registerAsking(contacts: Command): void {
  const receive = contacts
    .command('receive')
    .argument('[share]', 'a file that a friend sent; default: a mail on standard input with one')
    .description("keep a friend's filter, if it is newer than the one that is there")
    .option('--from <address>', 'the friend; default: the sender of the mail')
    .action(receiveShare);
  withExamples(withFriends(receive), [
    ['bloomery contacts receive --friends ~/friends < mail.eml', 'from a mail'],
    ['bloomery contacts receive --friends ~/friends --from bob@example.org for-ann.share', 'from a file'],
  ]);
  const check = contacts
    .command('check')
    .argument('[address...]', 'addresses to ask about; default: the sender of a mail on standard input')
    .description('does a friend know this address? Exit code 0: maybe, 1: none does')
    .option('--own <file>', 'the own contacts, which are known as well')
    .option('-q, --quiet', 'print nothing; the exit code is the answer')
    .action(checkAddresses);
  withExamples(withJson(withFriends(check)), [
    ['bloomery contacts check --friends ~/friends eve@example.net', 'who knows Eve?'],
    [':0\n  * ! ? bloomery contacts check -q --friends $HOME/friends\n  unknown/', 'a recipe of procmail'],
  ]);
  const mark = contacts
    .command('mark')
    .description(`pass a mail from standard input to standard output, with a field ${KNOWN_FIELD}`)
    .option('--own <file>', 'the own contacts, which are known as well')
    .option('--receive', "keep a friend's filter that the mail carries")
    .action(markMail);
  withExamples(withFriends(mark), [
    [':0 fw\n  | bloomery contacts mark --receive --friends $HOME/friends', 'a recipe of procmail'],
    ['xfilter "bloomery contacts mark --friends $HOME/friends"', 'a line of maildrop'],
  ]);
}

function withFriends(command: Command): Command {
  return command.requiredOption(
    '--friends <directory>',
    'secrets and filters of friends: NAME.key, NAME.share',
  );
}

function receiveShare(file: string | undefined, options: FriendsOptions & { from?: string }): void {
  let bytes: Uint8Array | null;
  let from = options.from === undefined ? null : normalizeAddress(options.from);
  if (file === undefined) {
    const mail = readMail();
    bytes = findPart(mail);
    from ??= senderOf(mail);
    if (bytes === null) throw new UsageError('the mail on standard input carries no filter');
  } else {
    bytes = readFileSync(file);
  }
  if (from === null) throw new UsageError('--from must be the address of the friend who sent the filter');
  const kept = keepShare(options.friends, from, bytes);
  if (kept === 'older') warn(`the filter of ${from} is older than the one that is there, and was not kept`);
  process.exitCode = kept === 'older' ? NOT_FOUND : FOUND;
}

function checkAddresses(addresses: string[], options: FriendsOptions): void {
  const { acquaintances } = readFriends(options.friends);
  const own = ownContacts(options);
  const asked = addresses.length > 0 ? addresses : [senderOf(readMail()) ?? ''];
  const answers = asked.map((text) => {
    const address = normalizeAddress(text);
    if (address === null) throw new UsageError(`${text || 'the sender of the mail'} is no address`);
    return { address, ...knowsAddress(address, acquaintances, own) };
  });
  if (options.json) writeJson({ answers });
  else if (!options.quiet) {
    for (const answer of answers) {
      const by = answer.own ? 'own contacts' : answer.friends.join(', ') || 'no friend';
      writeLine(`${answer.address}: ${by}`);
    }
  }
  process.exitCode = answers.every(isKnown) ? FOUND : NOT_FOUND;
}

/** Marks a mail. Whatever goes wrong here, the mail goes through: it is not ours to lose. */
function markMail(options: FriendsOptions & { receive?: boolean }): void {
  const mail = readMail();
  let marked = mail;
  try {
    if (options.receive) receiveFrom(mail, options.friends);
    const { acquaintances } = readFriends(options.friends);
    marked = withFields(mail, [
      [KNOWN_FIELD, knownField(knowsSender(mail, acquaintances, ownContacts(options)))],
    ]);
  } catch (error) {
    warn(`the mail passes unmarked: ${describeError(error)}`);
    marked = withFields(mail, [[KNOWN_FIELD, 'unknown; error']]);
  }
  write(Buffer.from(marked, 'latin1'));
}

/** Keeps the filter that a mail carries. One that is forged, or of no friend, is left alone. */
function receiveFrom(mail: string, folder: string): void {
  const bytes = findPart(mail);
  const from = senderOf(mail);
  if (bytes === null || from === null) return;
  try {
    keepShare(folder, from, bytes);
  } catch (error) {
    warn(`the filter in the mail was not kept: ${describeError(error)}`);
  }
}

function ownContacts({ own }: FriendsOptions): ReadonlySet<string> {
  return new Set(own === undefined ? [] : readContactFiles([own], {}));
}

function readMail(): string {
  if (process.stdin.isTTY) throw new UsageError('standard input is a terminal; a mail is expected there');
  return readFileSync(0).toString('latin1');
}

// Overlap.

interface OverlapCommandOptions extends ContactFileOptions {
  readonly serve?: boolean;
  readonly count?: boolean;
  readonly pad?: boolean;
  readonly keyFile?: string;
  readonly maxGuesses: number;
  readonly silence: number;
  readonly output?: string;
  readonly force?: boolean;
  readonly stats?: boolean;
  readonly json?: boolean;
}

const HELP = `
Both sides learn the common addresses (with --count only how many there are) and the number of addresses of the other side, which
--pad hides. Neither learns anything about the rest, unless it brings addresses that it only guesses: --max-guesses limits
them. Exit codes: 0 there are common addresses, 1 there are none, 2 error.`;

function registerOverlap(contacts: Command): void {
  const overlap = contacts
    .command('overlap')
    .description('which contacts do both sides have, without telling the others')
    .usage(
      '[options] <file...> -- <command to the other side>\n       bloomery contacts overlap --serve <file...>',
    )
    .argument('[file...]', 'vCards, CSV, mailboxes or lists; after -- a command whose other end is --serve')
    .option('--serve', 'answer another overlap on standard input and output')
    .option('-c, --count', 'learn and tell only how many contacts are common')
    .option('--pad', 'hide the number of contacts, up to the next power of two')
    .option('--key-file <file>', 'a secret of both sides, without which no third party can take part')
    .option(
      '--max-guesses <addresses>',
      'the most addresses that the other side may bring',
      parseCount(),
      10_000,
    )
    .option('--silence <seconds>', 'give up after a silence in a session; 0: never', parseSeconds, 60)
    .option('-o, --output <file>', 'write the common addresses to a file')
    .option('--stats', 'print the sizes to standard error')
    .action(runOverlapCommand);
  withJson(withForce(withContactFiles(overlap)));
  overlap.addHelpText('after', HELP);
  withExamples(overlap, [
    [
      'bloomery contacts overlap me.vcf -- ssh host bloomery contacts overlap --serve contacts.vcf',
      'with a friend who has an account there',
    ],
    [
      'bloomery contacts overlap --count --pad me.vcf -- ssh host bloomery contacts overlap --serve --count --pad contacts.vcf',
      'only how many, and no sizes',
    ],
  ]);
}

async function runOverlapCommand(
  operands: string[],
  options: OverlapCommandOptions,
  command: Command,
): Promise<void> {
  const { files, words } = operandsOf(operands, command);
  checkOverlap(files, words, options);
  if (options.output !== undefined) checkTarget(options.output, options);
  const addresses = readContactFiles(files, options);
  // The group is loaded before the other side is started, which would have to wait for it.
  const group = await ristretto255();
  const signals = holdSignals();
  try {
    const connection = words === null ? standardConnection() : await startProgram(words);
    try {
      const result = await runOverlap(addresses, connection, {
        role: words === null ? 'responder' : 'initiator',
        group,
        reveals: options.count ? 'count' : 'keys',
        maxPeerKeys: options.maxGuesses,
        silenceMs: 1000 * options.silence,
        signal: signals.stop,
        ...(options.pad && { padTo: paddedSize(addresses.length) }),
        ...(options.keyFile !== undefined && { context: readKeyBytes(options.keyFile) }),
      });
      const common = result.common?.map((key) => Buffer.from(key).toString()) ?? null;
      printOverlap({ ...result, common }, addresses.length, options);
    } finally {
      await connection.close();
    }
  } catch (error) {
    // The signal itself ends the process, in `close`.
    if (!signals.stop.aborted) throw error;
  } finally {
    signals.close();
  }
}

function checkOverlap(
  files: readonly string[],
  words: readonly string[] | null,
  { serve, count, output }: OverlapCommandOptions,
): void {
  if (files.length === 0 || (serve ? words !== null : words === null || words.length === 0)) {
    throw new UsageError(
      'expected files before -- and a command after it: bloomery contacts overlap FILE -- ssh HOST bloomery contacts overlap --serve FILE',
    );
  }
  if (count && output !== undefined)
    throw new UsageError('--count tells no addresses that --output could write');
  if (!serve) return;
  if (files.includes('-'))
    throw new UsageError('--serve uses standard input for the connection; name a file');
  if (isTerminal(1) || process.stdin.isTTY) {
    throw new UsageError('--serve talks through standard input and output, and one of them is a terminal');
  }
}

interface Overlap {
  readonly common: readonly string[] | null;
  readonly commonCount: number;
  readonly peerSize: number;
}

function printOverlap(overlap: Overlap, ownSize: number, options: OverlapCommandOptions): void {
  const { common, commonCount, peerSize } = overlap;
  if (options.output !== undefined) {
    writeTarget(
      options.output,
      Buffer.from((common ?? []).map((address) => `${address}\n`).join('')),
      options,
    );
  } else if (!options.serve) {
    if (options.json) writeJson({ commonCount, common, ownSize, peerSize });
    else if (common === null) writeLine(String(commonCount));
    else for (const address of common) writeLine(address);
  }
  if (options.stats) {
    process.stderr.write(
      `${formatCount(commonCount)} common contacts: ${formatCount(ownSize)} here, ${formatCount(peerSize)} on the other side\n`,
    );
  }
  // The side that serves has done its work in any case.
  process.exitCode = options.serve || commonCount > 0 ? FOUND : NOT_FOUND;
}

/** Files before `--` and the words of a command after it. Commander passes on both in one list. */
function operandsOf(
  operands: readonly string[],
  command: Command,
): { files: string[]; words: string[] | null } {
  let root: Command & { rawArgs?: readonly string[] } = command;
  while (root.parent !== null) root = root.parent;
  const raw = root.rawArgs ?? [];
  const at = raw.indexOf('--');
  if (at < 0) return { files: [...operands], words: null };
  const words = raw.slice(at + 1);
  return { files: operands.slice(0, operands.length - words.length), words };
}
