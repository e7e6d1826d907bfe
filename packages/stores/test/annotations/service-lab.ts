/** A real server of annotations on the loopback interface, with a database and files of its own. */

import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prefixOf } from '../../src/annotations/pages/page-id.ts';
import { AnnotationService } from '../../src/annotations/server/annotation-service.ts';
import { PublicationFolder } from '../../src/annotations/server/publication-folder.ts';
import { type NotesDatabaseConstructor, SqliteNotes } from '../../src/annotations/server/sqlite-notes.ts';

export const Database = createRequire(import.meta.url)('libsql') as NotesDatabaseConstructor;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

export class ServiceLab {
  readonly folder = mkdtempSync(join(tmpdir(), 'bloomery-annotations-'));
  readonly notes: SqliteNotes;
  readonly publicKey: Uint8Array;
  readonly publications: PublicationFolder;
  service!: AnnotationService;
  nowMs = 1.8e12;

  constructor(periodS = 3600) {
    this.notes = new SqliteNotes(join(this.folder, 'notes.sqlite'), Database);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.publicKey = Uint8Array.from(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
    this.publications = new PublicationFolder({
      folder: join(this.folder, 'public'),
      sign: (message) => new Uint8Array(sign(null, message, privateKey)),
      periodS,
    });
  }

  async start(): Promise<this> {
    this.service = await AnnotationService.start({
      notes: this.notes,
      publications: this.publications,
      publicKey: this.publicKey,
      name: 'Notes of the lab',
      host: '127.0.0.1',
      port: 0,
      nowMs: () => this.nowMs,
    });
    return this;
  }

  async close(): Promise<void> {
    await this.service?.close();
    this.notes.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  addUser(name: string, isModerator = false): string {
    return this.notes.addUser(name, { isModerator, nowS: this.nowMs / 1000 });
  }

  async ask(
    path: string,
    { token, method, body }: { token?: string; method?: string; body?: unknown } = {},
  ): Promise<Reply> {
    const response = await fetch(`http://127.0.0.1:${this.service.port}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** The notes of the page with this id, by a question with its prefix. */
  async notesOf(id: Uint8Array, group = 'public', token?: string) {
    const server = await this.ask('/v1/server', token === undefined ? {} : { token });
    const { prefixBits } = server.body.groups.find(({ name }: { name: string }) => name === group);
    const path = `/v1/notes?group=${group}&prefix=${prefixOf(id, prefixBits)}`;
    const { body } = await this.ask(path, token === undefined ? {} : { token });
    const hex = Buffer.from(id).toString('hex');
    return body.pages.find((page: { id: string }) => page.id === hex)?.notes ?? [];
  }
}
