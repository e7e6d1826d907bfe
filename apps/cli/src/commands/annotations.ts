/**
 * `annotations`: a server of notes on web pages that is not told which pages its users visit.
 * `@bloomery/stores/annotations` does the work; this file holds the options and the output.
 */

import { FolderLock } from '@bloomery/files';
import { formatPairs, formatTable } from '@bloomery/papers/drawing';
import {
  AnnotationService,
  type PublishedGroup,
  type SqliteNotes,
} from '@bloomery/stores/annotations/server';
import { type Command, InvalidArgumentError } from 'commander';
import { readNoteLines } from '../annotating/note-lines.ts';
import { openPublisher, withNotes } from '../annotating/notes-folder.ts';
import { parseDuration, withExamples, withJson } from '../command-options.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface JsonOption {
  readonly json?: boolean;
}

interface ServeOptions extends JsonOption {
  readonly listen: { readonly host: string; readonly port: number };
  readonly address?: string;
  readonly name: string;
  readonly period: number;
  readonly trustProxy?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('annotations')
    .description('notes on web pages, by a server that is not told which pages are visited');
  registerServe(command);
  registerPublish(command);
  registerUsers(command);
  registerGroups(command);
  registerNotes(command);
  command.addHelpText('after', HELP);
  withExamples(command, [
    ['bloomery annotations serve notes/', 'a server; it prints the address for the extension'],
    ['bloomery annotations user add notes/ ada', 'a user; prints the token, once'],
    ['bloomery annotations backup notes/ notes-backup.sqlite', 'a copy while the server runs'],
  ]);
}

const HELP = `
The folder holds the notes in SQLite (npm install libsql), the publisher's keys, and in public/files the signed lists of annotated
pages, which any file server or CDN can serve. Clients hold these lists and ask about pages that may have notes, by a prefix of a
digest. docs/guide/annotations.md shows the extension and what the server can learn.`;

function registerServe(parent: Command): void {
  const serve = parent
    .command('serve')
    .argument('<folder>', 'where notes, keys and lists are kept; it is created if it does not exist')
    .description('answer questions, take notes, and publish the lists every hour')
    .option('--listen <host:port>', 'where requests come in', parseListen, { host: '127.0.0.1', port: 4790 })
    .option('--address <url>', 'the address that clients use, if a proxy stands before the server')
    .option('--name <text>', 'the name of the server, for people', 'Notes')
    .option('--period <time>', 'the time between two publications', parseDuration, 3_600_000)
    .option('--trust-proxy', 'limit addresses by the last one in X-Forwarded-For')
    .action(runServer);
  withJson(serve);
  withExamples(serve, [
    ['bloomery annotations serve notes/', 'for this machine'],
    [
      'bloomery annotations serve notes/ --listen 127.0.0.1:4790 --address https://notes.example.org --trust-proxy',
      'behind a proxy that does TLS',
    ],
  ]);
}

async function runServer(folder: string, options: ServeOptions): Promise<void> {
  const { host, port } = options.listen;
  const periodS = options.period / 1000;
  if (!Number.isInteger(periodS))
    throw new UsageError('--period is no whole number of seconds; give 1h or 30s');
  const held = holdSignals();
  await withNotes(
    folder,
    async (notes) => {
      const lock = await FolderLock.take(folder);
      let service: AnnotationService | undefined;
      let timer: NodeJS.Timeout | undefined;
      try {
        const { publications, publicKey } = openPublisher(folder, periodS);
        service = await AnnotationService.start({
          notes,
          publications,
          publicKey,
          name: options.name,
          address: options.address?.replace(/\/+$/, ''),
          host,
          port,
          nowMs: Date.now,
          trustsProxy: options.trustProxy,
        });
        const own = service;
        const publishNext = () => {
          const nextMs = options.period - (Date.now() % options.period);
          timer = setTimeout(() => {
            own
              .publish({ signal: held.stop })
              .catch((error) => warn(`the lists were not published: ${(error as Error).message}`))
              .finally(() => {
                if (!held.stop.aborted) publishNext();
              });
          }, nextMs);
        };
        publishNext();
        if (options.json) writeJson({ listening: service.port, invitation: service.invitation });
        else writeLine(`serves notes; enter this in the extension: ${service.invitation}`);
        if (!held.stop.aborted) {
          await new Promise((resolve) => held.stop.addEventListener('abort', resolve, { once: true }));
        }
      } finally {
        clearTimeout(timer);
        await service?.close();
        lock.release();
      }
    },
    { create: true },
  );
  held.close();
}

function registerPublish(parent: Command): void {
  const publish = parent
    .command('publish')
    .argument('<folder>', 'the folder of the server')
    .description('publish the lists now, where no server runs')
    .option('--period <time>', 'the time between two publications', parseDuration, 3_600_000)
    .action((folder: string, options: JsonOption & { readonly period: number }) =>
      withNotes(folder, async (notes) => {
        const lock = await FolderLock.take(folder);
        try {
          const { publications } = openPublisher(folder, options.period / 1000);
          const nowS = Date.now() / 1000;
          for (const group of notes.groups()) {
            const published = await publications.publish(group, notes.urls(group), { nowS });
            if (options.json) writeJson(published);
            else writeLine(publishedText(published));
          }
        } finally {
          lock.release();
        }
      }),
    );
  withExamples(withJson(publish), [['bloomery annotations publish notes/', 'after an import']]);
}

function publishedText({ group, epoch, pages, bytes }: PublishedGroup): string {
  const sizes = Object.entries(bytes).map(([name, size]) => `${name.split('-')[0]} ${formatBytes(size)}`);
  const at = new Date(epoch * 1000).toISOString();
  return `${group}: ${formatCount(pages)} pages, epoch ${epoch} (${at}): ${sizes.join(', ')}`;
}

function registerUsers(parent: Command): void {
  const user = parent.command('user').description('add, list and lock out users');
  const add = user
    .command('add')
    .argument('<folder>', 'the folder of the server')
    .argument('<name>', 'up to 32 of a-z, 0-9 and -')
    .description('add a user and print the token, which is not stored')
    .option('--moderator', 'may hide and delete the notes of others')
    .action((folder: string, name: string, options: JsonOption & { readonly moderator?: boolean }) =>
      withNotes(
        folder,
        (notes) => {
          const isModerator = options.moderator ?? false;
          printToken(name, notes.addUser(name, { isModerator, nowS: Date.now() / 1000 }), options);
        },
        { create: true },
      ),
    );
  withExamples(withJson(add), [['bloomery annotations user add notes/ ada --moderator', 'with rights']]);
  const renew = user
    .command('renew')
    .argument('<folder>', 'the folder of the server')
    .argument('<name>', 'the user')
    .description('give a user a new token; the old one ends')
    .action((folder: string, name: string, options: JsonOption) =>
      withNotes(folder, (notes) => printToken(name, notes.renewToken(name), options)),
    );
  withExamples(withJson(renew), [['bloomery annotations user renew notes/ ada', 'after a lost token']]);
  for (const [word, isDisabled, text] of [
    ['disable', true, 'lock a user out; the notes stay'],
    ['enable', false, 'let a user in again'],
  ] as const) {
    const change = user
      .command(word)
      .argument('<folder>', 'the folder of the server')
      .argument('<name>', 'the user')
      .description(text)
      .action((folder: string, name: string) =>
        withNotes(folder, (notes) => notes.disableUser(name, isDisabled)),
      );
    withExamples(change, [[`bloomery annotations user ${word} notes/ bob`, 'by name']]);
  }
  const list = user
    .command('list')
    .argument('<folder>', 'the folder of the server')
    .description('print all users')
    .action((folder: string, options: JsonOption) =>
      withNotes(folder, (notes) => {
        const users = notes.users();
        if (options.json)
          for (const { name, isModerator, isDisabled } of users) writeJson({ name, isModerator, isDisabled });
        else {
          const rows = users.map(({ name, isModerator, isDisabled }) => [
            name,
            isDisabled ? 'locked out' : isModerator ? 'moderator' : 'user',
          ]);
          writeLine(formatTable([['name', 'rights'], ...rows]));
        }
      }),
    );
  withExamples(withJson(list), [['bloomery annotations user list notes/', 'names and rights']]);
}

function printToken(name: string, token: string, { json }: JsonOption): void {
  if (json) writeJson({ name, token });
  else writeLine(token);
}

function registerGroups(parent: Command): void {
  const group = parent.command('group').description('add and list groups, and their members');
  const add = group
    .command('add')
    .argument('<folder>', 'the folder of the server')
    .argument('<name>', 'up to 32 of a-z, 0-9 and -')
    .description('add a group; a private one has a secret key, and members')
    .option('--private', 'only members read and write it')
    .action((folder: string, name: string, options: { readonly private?: boolean }) =>
      withNotes(
        folder,
        (notes) =>
          void notes.addGroup(name, { isPrivate: options.private ?? false, nowS: Date.now() / 1000 }),
        { create: true },
      ),
    );
  withExamples(add, [['bloomery annotations group add notes/ team --private', 'for a team']]);
  for (const [word, isMember, text] of [
    ['join', true, 'make users members of a private group'],
    ['leave', false, 'end the membership of users'],
  ] as const) {
    const change = group
      .command(word)
      .argument('<folder>', 'the folder of the server')
      .argument('<group>', 'the group')
      .argument('<users...>', 'names of users')
      .description(text)
      .action((folder: string, name: string, users: readonly string[]) =>
        withNotes(folder, (notes) => {
          for (const user of users) notes.setMember(name, user, isMember);
        }),
      );
    withExamples(change, [[`bloomery annotations group ${word} notes/ team ada bob`, 'by name']]);
  }
  const list = group
    .command('list')
    .argument('<folder>', 'the folder of the server')
    .description('print all groups with their pages and notes')
    .action((folder: string, options: JsonOption) =>
      withNotes(folder, (notes) => {
        const groups = notes.groups().map((one) => ({
          name: one.name,
          isPrivate: one.key !== null,
          ...notes.counts(one),
        }));
        if (options.json) for (const one of groups) writeJson(one);
        else {
          const rows = groups.map((one) => [
            one.name,
            one.isPrivate ? 'private' : 'public',
            formatCount(one.pages),
            formatCount(one.notes),
          ]);
          writeLine(formatTable([['group', 'readers', 'pages', 'notes'], ...rows]));
        }
      }),
    );
  withExamples(withJson(list), [['bloomery annotations group list notes/', 'with counts']]);
}

function registerNotes(parent: Command): void {
  const exporting = parent
    .command('export')
    .argument('<folder>', 'the folder of the server')
    .description('print all notes as JSON lines, hidden and deleted ones too')
    .action((folder: string) =>
      withNotes(folder, (notes) => {
        for (const note of notes.everyNote()) writeJson(note);
      }),
    );
  withExamples(exporting, [['bloomery annotations export notes/ > notes.jsonl', 'to keep or to move']]);
  const importing = parent
    .command('import')
    .argument('<folder>', 'the folder of the server')
    .argument('[file]', 'JSON lines as from export; default: standard input', '-')
    .description('take notes of an export, all of them or none; notes that are there stay')
    .action((folder: string, file: string, options: JsonOption) =>
      withNotes(folder, (notes) => importNotes(notes, file, options), { create: true }),
    );
  withExamples(withJson(importing), [
    ['bloomery annotations import notes/ notes.jsonl', 'on another machine'],
  ]);
  const backup = parent
    .command('backup')
    .argument('<folder>', 'the folder of the server')
    .argument('<file>', 'a new SQLite file')
    .description('copy the database while the server runs')
    .action((folder: string, file: string) => withNotes(folder, (notes) => notes.backup(file)));
  withExamples(backup, [['bloomery annotations backup notes/ monday.sqlite', 'from a timer']]);
  for (const [word, state, text] of [
    ['hide', 'hidden', 'hide notes; they leave the list with the next publication'],
    ['show', 'visible', 'show hidden notes again'],
  ] as const) {
    const change = parent
      .command(word)
      .argument('<folder>', 'the folder of the server')
      .argument('<ids...>', 'ids of notes')
      .description(text)
      .action((folder: string, ids: readonly string[]) =>
        withNotes(folder, (notes) => {
          for (const id of ids) notes.moderate(id, state, OPERATOR);
        }),
      );
    withExamples(change, [[`bloomery annotations ${word} notes/ 0123456789abcdef0123456789abcdef`, 'by id']]);
  }
  const reported = parent
    .command('reported')
    .argument('<folder>', 'the folder of the server')
    .description('print notes that users reported or moderators hid, the most reported first')
    .action((folder: string, options: JsonOption) =>
      withNotes(folder, (notes) => {
        for (const group of notes.groups()) {
          for (const note of notes.moderation(group)) {
            if (options.json) writeJson(note);
            else {
              const { id, author, text, url, reports, state } = note;
              writeLine(
                formatPairs([
                  ['id', id],
                  ['group', group.name],
                  ['page', url],
                  ['author', author],
                  ['state', state],
                  ['reports', String(reports)],
                  ['text', text],
                ]),
              );
            }
          }
        }
      }),
    );
  withExamples(withJson(reported), [['bloomery annotations reported notes/', 'what to look at']]);
}

/** The person at the machine, who may open the folder and so may moderate. */
const OPERATOR = { id: 0, name: 'operator', isModerator: true, isDisabled: false };

async function importNotes(notes: SqliteNotes, file: string, { json }: JsonOption): Promise<void> {
  const imported = await readNoteLines(file);
  const added = notes.importNotes(imported, Date.now() / 1000);
  if (json) writeJson({ read: imported.length, added });
  else writeLine(`${formatCount(added)} of ${formatCount(imported.length)} notes are new`);
}

function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new InvalidArgumentError('Expected an address and a port such as 127.0.0.1:4790 or [::1]:4790.');
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}
