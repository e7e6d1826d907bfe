/**
 * `share`: takes part in groups that search each other's folders, until it is interrupted. It
 * shows what would be shared and asks before anything leaves the machine. `invite` makes a group,
 * `renew` revokes members, `status` asks the share that runs.
 */

import { existsSync, unwatchFile, watchFile } from 'node:fs';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { writeAtomically } from '@bloomery/files';
import { SearchError } from '@bloomery/overlay/directory';
import {
  type GroupMember,
  type GroupMemberOptions,
  type Invitation,
  invitationText,
  newInvitation,
  ShareDaemon,
} from '@bloomery/overlay/search/node';
import { type Command, InvalidArgumentError } from 'commander';
import { parseCount, withExamples, withForce, withJson } from '../command-options.ts';
import {
  chooseFolders,
  readInvitationFile,
  type SharedGroup,
  shareRules,
} from '../searching/folder-choice.ts';
import { plainText } from '../searching/result-text.ts';
import { askShare, defaultStateFile, removeShareState, writeShareState } from '../searching/share-state.ts';
import { listShared, sharedListText } from '../searching/shared-list.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface ShareOptions {
  readonly invite: readonly string[];
  readonly id: string;
  readonly listen?: { readonly host: string; readonly port: number };
  readonly peer: readonly string[];
  readonly nats?: string;
  readonly control: number;
  readonly heartbeat?: number;
  readonly state: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Files of the list before the question. */
const SHOWN = 10;
/** Time between two looks at an invitation, which may have a new secret. */
const LOOK_MS = 500;

export function register(program: Command): void {
  const command = program
    .command('share')
    .description('share folders with a group whose members search them; without folders, only search')
    .argument('[folders...]', 'folders to share; DIR=INVITATION for one with a group of its own')
    .option('--invite <file>', 'the invitation to a group; several times', collect, [])
    .option('--id <name>', 'the name of this peer, unique in its groups', hostname())
    .option('--nats <url>', 'a NATS server where the members meet, in the place of that of the invitation')
    .option('--listen <host:port>', 'the peer port, where there is no NATS server', parseListen)
    .option('--peer <url>', 'the peer port of another member; several times', collect, [])
    .option('--control <port>', 'the port on loopback for find; 0 is any', parseCount(0), 0)
    .option('--heartbeat <ms>', 'time between two signs of life; the same on all peers', parseCount())
    .option('--state <file>', 'the file that tells find where this share is', defaultStateFile())
    .option('--dry-run', 'list all files that would be shared, and end')
    .option('-y, --yes', 'share without asking')
    .action(share);
  withJson(command);
  registerInvite(command);
  registerRenew(command);
  registerStatus(command);
  withExamples(command, [
    ['bloomery share invite team.json --group team --nats nats://10.0.0.5:4222', 'make a group'],
    ['bloomery share ~/docs --invite team.json --dry-run', 'see which files would be shared'],
    ['bloomery share ~/docs --invite team.json', 'share them, until Ctrl-C'],
    ['bloomery share ~/docs=team.json ~/plans=board.json', 'each folder with a group of its own'],
    ['bloomery share renew team.json', 'revoke: those who do not get the new file learn nothing new'],
  ]);
}

async function share(folders: readonly string[], options: ShareOptions): Promise<void> {
  const groups = chooseFolders(folders, options.invite);
  const lists = groups.flatMap(({ invitation, folders }) =>
    folders.map((folder) => listShared(folder, invitation.group)),
  );
  if (options.dryRun) {
    if (options.json) writeJson(lists);
    else for (const list of lists) writeLine(sharedListText(list, Number.POSITIVE_INFINITY));
    return;
  }
  if (lists.length > 0 && !options.yes)
    await confirm(lists.map((list) => sharedListText(list, SHOWN)).join('\n'));
  const daemon = await startDaemon(groups, options);
  const held = holdSignals();
  const state = { control: daemon.control, token: daemon.token, pid: process.pid };
  const watched = watchInvitations(daemon, groups, options);
  try {
    writeShareState(options.state, state);
    await daemon.index();
    tell(daemon, options.json ?? false);
    if (!held.stop.aborted) await new Promise((resolve) => held.stop.addEventListener('abort', resolve));
  } finally {
    watched();
    removeShareState(options.state);
    await daemon.close();
    held.close();
  }
}

async function startDaemon(groups: readonly SharedGroup[], options: ShareOptions): Promise<ShareDaemon> {
  try {
    const { id, control } = options;
    return await ShareDaemon.start({
      id,
      controlPort: control,
      groups: groups.map((group) => memberOptions(group, group.invitation, options)),
    });
  } catch (error) {
    if (error instanceof RangeError || error instanceof SearchError)
      throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

function memberOptions(
  { folders }: SharedGroup,
  invitation: Invitation,
  { nats, listen, peer, heartbeat }: ShareOptions,
): Omit<GroupMemberOptions, 'id'> {
  return {
    invitation: nats === undefined ? invitation : { ...invitation, nats },
    folders,
    listen,
    peers: peer,
    heartbeatMs: heartbeat,
    rules: shareRules,
    problem: (path, why) => warn(`${plainText(path)} is not shared as it should be: ${why}`),
  };
}

async function confirm(text: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new UsageError(
      'the question needs a terminal, and standard input is none; --yes shares without asking',
    );
  process.stderr.write(`${text}\nFiles that are saved there later are shared as well.\n`);
  const line = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await line.question('Share them? [y/N] ');
  line.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing is shared');
}

function tell(daemon: ShareDaemon, json: boolean): void {
  const status = daemon.status();
  if (json) {
    writeJson({ event: 'sharing', control: daemon.control, ...status });
    return;
  }
  for (const { name, documents, peers, peerPort } of status.groups) {
    const port = peerPort === null ? '' : `, peer port ${peerPort}`;
    writeLine(
      `${status.id} shares ${countOf(documents, 'file')} with ${name}: ${countOf(peers.length, 'peer')} known${port}`,
    );
  }
}

/** Takes a new secret as soon as the file of the invitation has one. */
function watchInvitations(
  daemon: ShareDaemon,
  groups: readonly SharedGroup[],
  options: ShareOptions,
): () => void {
  const members = new Map<SharedGroup, GroupMember>(groups.map((group, i) => [group, daemon.members[i]]));
  for (const group of groups) {
    let secret = group.invitation.secret;
    let work = Promise.resolve();
    const look = async () => {
      const invitation = existsSync(group.file) ? readInvitationFile(group.file) : null;
      if (invitation === null || Buffer.compare(invitation.secret, secret) === 0) return;
      secret = invitation.secret;
      const member = members.get(group)!;
      members.set(group, await daemon.replace(member, memberOptions(group, invitation, options)));
      writeLine(`${invitation.group} has a new secret`);
    };
    watchFile(group.file, { interval: LOOK_MS }, () => {
      work = work.then(look).catch((error: Error) => warn(`${group.file}: ${error.message}`));
    });
  }
  return () => {
    for (const { file } of groups) unwatchFile(file);
  };
}

interface InviteOptions {
  readonly group: string;
  readonly nats?: string;
  readonly peer: readonly string[];
  readonly force?: boolean;
}

// An option that `share` has as well is read by it, wherever it stands; hence `optsWithGlobals`.
function registerInvite(parent: Command): void {
  const command = parent
    .command('invite')
    .description('make a group: write an invitation, which everyone who has it can use')
    .argument('<file>', 'the invitation; pass it on as you would a password')
    .requiredOption('--group <name>', 'the name of the group: letters a-z, digits, dashes')
    .option('--nats <url>', 'the NATS server where the members meet')
    .option('--peer <url>', 'the peer port of a member; several times', collect, [])
    .action((file: string, _: unknown, command: Command) => {
      const { group, nats, peer, force = false }: InviteOptions = command.optsWithGlobals();
      if (existsSync(file) && !force)
        throw new UsageError(`${file} exists already; --force replaces it, nothing was changed`);
      try {
        writeInvitation(file, newInvitation({ group, nats: nats ?? null, peers: peer }));
      } catch (error) {
        if (error instanceof SearchError) throw new UsageError(error.message, { cause: error });
        throw error;
      }
    });
  withForce(command);
}

function registerRenew(parent: Command): void {
  parent
    .command('renew')
    .description('revoke members: give the group a new secret, for those who shall stay')
    .argument('<file>', 'the invitation, which is replaced; pass the new one on to those who stay')
    .action((file: string) => writeInvitation(file, newInvitation(readInvitationFile(file))));
}

function writeInvitation(file: string, invitation: Invitation): void {
  writeAtomically(file, Buffer.from(invitationText(invitation)), { force: true, mode: 0o600 });
}

type Status = ReturnType<ShareDaemon['status']>;

function registerStatus(parent: Command): void {
  const command = parent
    .command('status')
    .description('show the share that runs: its folders, and the directory of its groups')
    .option('--state <file>', 'the file of the share that runs', defaultStateFile())
    .action(async (_: unknown, command: Command) => {
      const { state, json }: Pick<ShareOptions, 'state' | 'json'> = command.optsWithGlobals();
      const status = (await askShare(state, '/status')) as Status;
      if (json) writeJson(status);
      else writeLine(statusText(status));
    });
  withJson(command);
}

function statusText({ id, groups }: Status): string {
  return groups
    .flatMap(({ name, problem, folders, documents, keys, peers }) => [
      `${name}: ${id} shares ${countOf(documents, 'file')} with ${countOf(keys, 'word')}`,
      ...(problem === null ? [] : [`  ${plainText(problem)}`]),
      ...folders.map(({ root, files }) => `  ${plainText(root)}: ${countOf(files, 'file')}`),
      ...peers.map((peer) => {
        const since = new Date(peer.since).toLocaleTimeString('en-GB', { timeStyle: 'short' });
        const state = peer.isOnline
          ? peer.isCurrent
            ? 'online'
            : 'its summary is on the way'
          : `offline since ${since}`;
        const files = peer.documents === null ? '' : `, ${countOf(peer.documents, 'file')}`;
        return `  ${plainText(peer.id ?? peer.address)}: ${state}${files}, ${formatBytes(peer.memoryBytes)} of summaries`;
      }),
    ])
    .join('\n');
}

/** "1 file", "2 files" */
function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value];
}

function parseListen(text: string): { host: string; port: number } {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  if (match !== null && Number(match[2]) < 65_536) return { host: match[1], port: Number(match[2]) };
  throw new InvalidArgumentError('Expected a host and a port, such as 10.0.0.5:7071.');
}
