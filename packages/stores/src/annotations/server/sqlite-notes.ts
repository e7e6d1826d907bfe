/**
 * Notes, users and groups in a SQLite file, by the class `Database` of `libsql` or
 * `better-sqlite3`, which is passed in.
 *
 * Durability. The database has a write-ahead log and `synchronous = full`: a method that returns
 * has its change on the disk, so neither the end of the process nor of the machine loses it. Every
 * method is one transaction. Backups are made by SQLite (`vacuum into`), while others write.
 *
 * Tokens. Only SHA-256 of a token is stored. Tokens have 256 random bits, so a slow hash would add
 * nothing.
 *
 * The count of a page. A page is in its group's list while it has a visible note. The list is made
 * from the notes at each publication, so it cannot drift from them as a counter on its own could.
 */

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { idsWithPrefix, pageId } from '../pages/page-id.ts';
import { AnnotationError } from './annotation-error.ts';
import { checkName, MOST_NOTES_OF_PAGE, type NewNote } from './note-rules.ts';

/** The part of a database that is used here. */
export interface NotesDatabase {
  prepare(sql: string): NotesStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

/**
 * Values are passed as an array: libsql takes a single blob for an object of named values, and ends
 * the process.
 */
interface NotesStatement {
  get(values: readonly unknown[]): unknown;
  all(values: readonly unknown[]): unknown[];
  run(values: readonly unknown[]): { readonly changes: number };
}

export type NotesDatabaseConstructor = new (path: string, options?: object) => NotesDatabase;

export interface User {
  readonly id: number;
  readonly name: string;
  readonly isModerator: boolean;
  readonly isDisabled: boolean;
}

export interface Group {
  readonly id: number;
  readonly name: string;
  /** The key of a private group, or null for a public one. */
  readonly key: Uint8Array | null;
}

/** A note as members of its group see it. The author and the text of a deleted one are empty. */
export interface Note {
  readonly id: string;
  readonly parent: string | null;
  readonly author: string;
  readonly text: string;
  readonly atS: number;
  readonly state: NoteState;
}

export type NoteState = 'visible' | 'hidden' | 'deleted';

export interface AnnotatedPage {
  readonly id: Uint8Array;
  readonly notes: readonly Note[];
}

/** A note with everything about it, for moderators and exports. */
export interface FullNote extends Note {
  readonly group: string;
  readonly url: string;
  readonly reports: number;
}

/** A note of an export, with checked fields (`checkImport`). */
export type ImportedNote = Omit<FullNote, 'reports'>;

const STATES: readonly NoteState[] = ['visible', 'hidden', 'deleted'];
const VERSION = 1;
const MOST_PAGES = 256;

const SCHEMA = `
  create table users (
    id integer primary key, name text not null unique, token blob not null unique,
    moderator integer not null, disabled integer not null default 0, at_s integer not null);
  create table groups (id integer primary key, name text not null unique, key blob, at_s integer not null);
  create table members (
    group_id integer not null references groups, user_id integer not null references users,
    primary key (group_id, user_id)) without rowid;
  create table notes (
    id text not null unique, group_id integer not null references groups, page blob not null, url text not null,
    author integer not null references users, parent text, text text not null, at_s integer not null,
    state integer not null default 0, reports integer not null default 0);
  create index notes_of_page on notes (group_id, page, at_s);
  create index notes_listed on notes (group_id, url) where state = 0;
  create table reports (note text not null, user_id integer not null, primary key (note, user_id)) without rowid;
  insert into groups (name, key, at_s) values ('public', null, 0);
`;

export class SqliteNotes {
  readonly #database: NotesDatabase;
  readonly #statements = new Map<string, NotesStatement>();

  /** Opens the file, and creates it if it does not exist. */
  constructor(path: string, Database: NotesDatabaseConstructor) {
    this.#database = new Database(path);
    try {
      this.#database.exec(
        'pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 10000',
      );
      this.#open(path);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** Adds a user and returns the token, which is not stored and cannot be had again. */
  addUser(name: string, { isModerator = false, nowS }: { isModerator?: boolean; nowS: number }): string {
    checkName('user', name);
    const token = randomBytes(32).toString('base64url');
    this.#insert('user', name, () =>
      this.#run(
        'insert into users (name, token, moderator, at_s) values (?, ?, ?, ?)',
        name,
        sha256(token),
        +isModerator,
        Math.floor(nowS),
      ),
    );
    return token;
  }

  /** Gives a user a new token. The old one is no longer valid. */
  renewToken(name: string): string {
    const token = randomBytes(32).toString('base64url');
    const changed = this.#run('update users set token = ? where name = ?', sha256(token), name);
    if (changed === 0) throw notFound('user', name);
    return token;
  }

  /** Lets a user in again, or locks it out. Its notes stay. */
  disableUser(name: string, isDisabled = true): void {
    if (this.#run('update users set disabled = ? where name = ?', +isDisabled, name) === 0) {
      throw notFound('user', name);
    }
  }

  userOfToken(token: string): User | null {
    const found = this.#get('select * from users where token = ? and disabled = 0', sha256(token));
    return found === undefined ? null : userOf(found);
  }

  users(): readonly User[] {
    return this.#all('select * from users order by name').map(userOf);
  }

  /** Adds a group. A private one gets a random key. */
  addGroup(name: string, { isPrivate, nowS }: { isPrivate: boolean; nowS: number }): Group {
    checkName('group', name);
    const key = isPrivate ? randomBytes(32) : null;
    this.#insert('group', name, () =>
      this.#run('insert into groups (name, key, at_s) values (?, ?, ?)', name, key, Math.floor(nowS)),
    );
    return this.group(name);
  }

  group(name: string): Group {
    const found = this.#get('select * from groups where name = ?', name);
    if (found === undefined) throw notFound('group', name);
    return groupOf(found);
  }

  groups(): readonly Group[] {
    return this.#all('select * from groups order by name').map(groupOf);
  }

  setMember(groupName: string, userName: string, isMember: boolean): void {
    const group = this.group(groupName);
    const user = this.#get('select * from users where name = ?', userName);
    if (user === undefined) throw notFound('user', userName);
    const sql = isMember
      ? 'insert or ignore into members (group_id, user_id) values (?, ?)'
      : 'delete from members where group_id = ? and user_id = ?';
    this.#run(sql, group.id, user.id);
  }

  /** Whether a user, or a client without a token, may read a group. */
  mayRead(group: Group, user: User | null): boolean {
    if (group.key === null) return true;
    const sql = 'select 1 from members where group_id = ? and user_id = ?';
    return user !== null && this.#get(sql, group.id, user.id) !== undefined;
  }

  /**
   * Adds a note. When the promise is fulfilled, the note is on the disk. A note that is there
   * already, with the same id and contents, is acknowledged again.
   */
  async addNote(
    note: NewNote,
    author: User,
    { nowS, signal }: { nowS: number; signal?: AbortSignal },
  ): Promise<{ readonly id: string; readonly page: Uint8Array }> {
    const group = this.group(note.group);
    const page = await pageId(note.url, group.key);
    signal?.throwIfAborted();
    const id = note.id ?? randomBytes(16).toString('hex');
    this.#transaction(() => {
      const same = this.#get('select * from notes where id = ?', id);
      if (same !== undefined) {
        const isSame =
          same.group_id === group.id &&
          same.url === note.url &&
          same.author === author.id &&
          same.parent === note.parent &&
          (same.text === note.text || same.state === DELETED);
        if (isSame) return;
        throw new AnnotationError('exists', `Cannot add a note: expected a new id, got ${id}`);
      }
      const count = this.#get(
        'select count(*) as n from notes where group_id = ? and page = ?',
        group.id,
        page,
      );
      if (Number(count!.n) >= MOST_NOTES_OF_PAGE) {
        throw new AnnotationError(
          'full',
          `Cannot add a note: expected fewer than ${MOST_NOTES_OF_PAGE} on the page, got ${count!.n}`,
        );
      }
      if (note.parent !== null) {
        const parent = this.#get('select group_id, url from notes where id = ?', note.parent);
        if (parent?.group_id !== group.id || parent.url !== note.url) throw notFound('parent', note.parent);
      }
      this.#run(
        'insert into notes (id, group_id, page, url, author, parent, text, at_s) values (?, ?, ?, ?, ?, ?, ?, ?)',
        id,
        group.id,
        page,
        note.url,
        author.id,
        note.parent,
        note.text,
        Math.floor(nowS),
      );
    });
    return { id, page };
  }

  /**
   * Takes notes of another database, all of them or none, and returns how many were new. Groups
   * must exist. Authors that do not are made, locked out.
   */
  importNotes(imported: Iterable<ImportedNote>, nowS: number): number {
    let added = 0;
    this.#transaction(() => {
      for (const note of imported) {
        const group = this.group(note.group);
        if (this.#get('select 1 from notes where id = ?', note.id) !== undefined) continue;
        checkName('author', note.author);
        if (this.#get('select 1 from users where name = ?', note.author) === undefined) {
          this.addUser(note.author, { nowS });
          this.disableUser(note.author);
        }
        added += this.#run(
          `insert into notes (id, group_id, page, url, author, parent, text, at_s, state)
           select ?, ?, ?, ?, id, ?, ?, ?, ? from users where name = ?`,
          note.id,
          group.id,
          pageIdNow(note.url, group.key),
          note.url,
          note.parent,
          note.text,
          Math.floor(note.atS),
          STATES.indexOf(note.state),
          note.author,
        );
      }
    });
    return added;
  }

  /** Deletes a note: its text goes, and its place stays if it has replies. */
  deleteNote(id: string, by: User): void {
    const note = this.#noteRow(id);
    if (note.author !== by.id && !by.isModerator) {
      throw new AnnotationError('forbidden', `Cannot delete a note: expected its author, got ${by.name}`);
    }
    this.#run("update notes set state = ?, text = '' where id = ?", DELETED, id);
  }

  /** Hides a note, or shows it again. */
  moderate(id: string, state: 'visible' | 'hidden', by: User): void {
    if (!by.isModerator) {
      throw new AnnotationError('forbidden', `Cannot moderate: expected a moderator, got ${by.name}`);
    }
    if (this.#noteRow(id).state === DELETED) throw notFound('note', id);
    this.#run('update notes set state = ? where id = ?', STATES.indexOf(state), id);
  }

  /** Counts a report of a user, once. */
  report(id: string, by: User): void {
    this.#noteRow(id);
    this.#transaction(() => {
      const fresh = this.#run('insert or ignore into reports (note, user_id) values (?, ?)', id, by.id);
      if (fresh > 0) this.#run('update notes set reports = reports + 1 where id = ?', id);
    });
  }

  /** The group of a note, for the question whether a user may see it. */
  groupOfNote(id: string): Group {
    const row = this.#noteRow(id);
    return groupOf(this.#get('select * from groups where id = ?', row.group_id)!);
  }

  /** The annotated pages whose id begins with a prefix, and whether some were left out. */
  pagesWithPrefix(
    group: Group,
    prefix: string,
    mostBytes: number,
  ): { readonly pages: readonly AnnotatedPage[]; readonly isCut: boolean } {
    const { least, most } = idsWithPrefix(prefix);
    const found = this.#all(
      `select distinct page from notes where group_id = ? and page >= ? and page <= ? and state = 0
       order by page limit ?`,
      group.id,
      least,
      most,
      MOST_PAGES + 1,
    );
    const pages: AnnotatedPage[] = [];
    let bytes = 0;
    for (const { page } of found) {
      const id = bytesOf(page);
      const rows = this.#all(
        `select n.id, n.parent, n.text, n.at_s, n.state, u.name as author
         from notes n join users u on u.id = n.author
         where n.group_id = ? and n.page = ? and n.state <> 1 order by n.at_s, n.rowid`,
        group.id,
        id,
      );
      const notes = shownNotes(rows.map(noteOf));
      bytes += notes.reduce((sum, { text }) => sum + 200 + 3 * text.length, 100);
      if (pages.length === MOST_PAGES || bytes > mostBytes) return { pages, isCut: true };
      pages.push({ id, notes });
    }
    return { pages, isCut: false };
  }

  /** The URLs of all pages of a group that have a visible note. */
  urls(group: Group): string[] {
    const urls: string[] = [];
    for (let last = ''; ; last = urls[urls.length - 1]) {
      const rows = this.#all(
        'select distinct url from notes where group_id = ? and state = 0 and url > ? order by url limit 10000',
        group.id,
        last,
      );
      for (const { url } of rows) urls.push(String(url));
      if (rows.length < 10_000) return urls;
    }
  }

  /** Reported and hidden notes of a group, the most reported first. */
  moderation(group: Group, most = 200): readonly FullNote[] {
    return this.#all(
      `${FULL} where n.group_id = ? and (n.state = 1 or (n.reports > 0 and n.state = 0))
       order by n.reports desc, n.at_s desc limit ?`,
      group.id,
      most,
    ).map(fullNoteOf);
  }

  /** All notes in the order of their ids, a page of them at a time. */
  *everyNote(): Generator<FullNote> {
    const statement = this.#statement(`${FULL} where n.id > ? order by n.id limit 1000`);
    for (let last = ''; ; ) {
      const rows = statement.all([last]) as Row[];
      for (const row of rows) yield fullNoteOf(row);
      if (rows.length < 1000) return;
      last = String(rows[rows.length - 1].id);
    }
  }

  /** Visible notes and their pages in a group. */
  counts(group: Group): { readonly notes: number; readonly pages: number } {
    const sql =
      'select count(*) as notes, count(distinct url) as pages from notes where group_id = ? and state = 0';
    const row = this.#get(sql, group.id)!;
    return { notes: Number(row.notes), pages: Number(row.pages) };
  }

  /** Writes a copy of the database to a new file. */
  backup(path: string): void {
    this.#run('vacuum into ?', path);
  }

  #open(path: string): void {
    const version = Number((this.#database.prepare('pragma user_version').get([]) as Row).user_version);
    const tables = Number(
      (this.#database.prepare('select count(*) as n from sqlite_master').get([]) as Row).n,
    );
    if (version === 0 && tables === 0) {
      this.#transaction(() => this.#database.exec(`${SCHEMA}; pragma user_version = ${VERSION}`));
    } else if (version !== VERSION) {
      throw new AnnotationError(
        'format',
        `Cannot open the notes: expected version ${VERSION}, got ${version} (${path})`,
      );
    }
  }

  #noteRow(id: string): Row {
    const row = this.#get('select * from notes where id = ?', id);
    if (row === undefined) throw notFound('note', id);
    return row;
  }

  #insert(what: string, name: string, insert: () => unknown): void {
    try {
      insert();
    } catch (error) {
      if (!/unique/i.test((error as Error).message)) throw error;
      throw new AnnotationError('exists', `Cannot add a ${what}: expected a new name, got ${name}`, {
        cause: error,
      });
    }
  }

  #transaction(work: () => unknown): void {
    this.#database.exec('begin immediate');
    try {
      work();
      this.#database.exec('commit');
    } catch (error) {
      this.#database.exec('rollback');
      throw error;
    }
  }

  #statement(sql: string): NotesStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #get(sql: string, ...values: unknown[]): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  #all(sql: string, ...values: unknown[]): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  #run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(values).changes;
  }
}

type Row = Record<string, unknown>;

const DELETED = 2;
const FULL = `select n.id, n.parent, n.text, n.at_s, n.state, n.url, n.reports, u.name as author, g.name as "group"
  from notes n join users u on u.id = n.author join groups g on g.id = n.group_id`;

/** Visible notes, and deleted ones that a visible note replies to. */
function shownNotes(notes: readonly Note[]): readonly Note[] {
  const answered = new Set<string>();
  const byId = new Map(notes.map((note) => [note.id, note]));
  for (const note of notes) {
    if (note.state !== 'visible') continue;
    for (let id = note.parent; id !== null && !answered.has(id); id = byId.get(id)?.parent ?? null) {
      answered.add(id);
    }
  }
  return notes.filter(({ id, state }) => state === 'visible' || answered.has(id));
}

function noteOf(row: Row): Note {
  const state = STATES[Number(row.state)];
  const isDeleted = state === 'deleted';
  return {
    id: String(row.id),
    parent: row.parent === null ? null : String(row.parent),
    author: isDeleted ? '' : String(row.author),
    text: isDeleted ? '' : String(row.text),
    atS: Number(row.at_s),
    state,
  };
}

function fullNoteOf(row: Row): FullNote {
  return { ...noteOf(row), group: String(row.group), url: String(row.url), reports: Number(row.reports) };
}

function userOf(row: Row): User {
  return {
    id: Number(row.id),
    name: String(row.name),
    isModerator: Number(row.moderator) === 1,
    isDisabled: Number(row.disabled) === 1,
  };
}

function groupOf(row: Row): Group {
  return {
    id: Number(row.id),
    name: String(row.name),
    key: row.key === null ? null : bytesOf(row.key),
  };
}

/** Copies a blob: better-sqlite3 returns a `Buffer`, libsql an `ArrayBuffer`. */
function bytesOf(value: unknown): Uint8Array {
  return value instanceof ArrayBuffer ? new Uint8Array(value.slice(0)) : Uint8Array.from(value as Uint8Array);
}

/** `pageId` without a promise, for a transaction that must not be interrupted. */
function pageIdNow(url: string, groupKey: Uint8Array | null): Buffer {
  const message = `bloomery annotations 1\n${url}`;
  return groupKey === null ? sha256(message) : createHmac('sha256', groupKey).update(message).digest();
}

function notFound(what: string, name: string): AnnotationError {
  return new AnnotationError('not-found', `Cannot find the ${what}: expected one that exists, got ${name}`);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
