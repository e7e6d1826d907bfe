/**
 * Debian's Chromium with the built extension, behind a proxy that records every byte, and a real
 * server of annotations behind that proxy. All pages of the web are made by the proxy.
 */

import { generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  AnnotationService,
  type NotesDatabaseConstructor,
  PublicationFolder,
  SqliteNotes,
} from '@bloomery/stores/annotations/server';
import { until } from '@bloomery/testkit/eventually';
import { type BrowserContext, chromium, type Page, type Worker } from 'playwright-core';

const EXTENSION = fileURLToPath(new URL('../../dist/extension/', import.meta.url));
const SITE_SCRIPT = fileURLToPath(new URL('../../dist/annotations-site.js', import.meta.url));
/** The name of the server behind the proxy. */
const SERVER = 'http://notes.test';

const HOUR_MS = 3_600_000;

/** One request that passed the proxy. */
export interface Recorded {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  /** Request line, header fields and body, as they came. */
  readonly sent: string;
  received: string;
}

export interface LabOptions {
  /** A page of the web: its HTML, with header fields. */
  readonly page?: (url: URL) => { html: string; headers?: Record<string, string> };
  readonly colorScheme?: 'light' | 'dark';
  readonly extension?: string;
}

export class ExtensionLab {
  readonly folder = mkdtempSync(join(tmpdir(), 'bloomery-annotator-'));
  readonly recorded: Recorded[] = [];
  readonly notes: SqliteNotes;
  service!: AnnotationService;
  context!: BrowserContext;
  /** Changes answers of the server, as an attacker in its place could. */
  tamper: ((path: string, body: Buffer) => Buffer) | undefined;
  /** Cuts the way to the server. */
  isOffline = false;
  /**
   * Added to the clock of the server. It begins in the middle of an hour, so that the next one does
   * not come in a test, and two hours ago, so that publications of later hours are not ahead.
   */
  aheadMs = -1.5 * HOUR_MS - (Date.now() % HOUR_MS);
  readonly #options: LabOptions;
  readonly #proxy: Server;
  readonly #publications: PublicationFolder;
  readonly #publicKey: Uint8Array;

  constructor(options: LabOptions = {}) {
    if (!existsSync(EXTENSION)) {
      throw new Error(
        'Cannot test the extension: expected apps/annotator/dist, got none (npm run build makes it)',
      );
    }
    this.#options = options;
    const Database = createRequire(import.meta.url)('libsql') as NotesDatabaseConstructor;
    this.notes = new SqliteNotes(join(this.folder, 'notes.sqlite'), Database);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.#publicKey = Uint8Array.from(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
    this.#publications = new PublicationFolder({
      folder: join(this.folder, 'public'),
      sign: (message) => new Uint8Array(sign(null, message, privateKey)),
    });
    this.#proxy = createServer((request, response) => void this.#pass(request, response));
    this.#proxy.on('connect', (_request, socket) => socket.destroy());
  }

  async start(): Promise<this> {
    this.service = await AnnotationService.start({
      notes: this.notes,
      publications: this.#publications,
      publicKey: this.#publicKey,
      name: 'Notes of the lab',
      address: SERVER,
      host: '127.0.0.1',
      port: 0,
      nowMs: () => Date.now() + this.aheadMs,
    });
    await new Promise<void>((resolve) => this.#proxy.listen(0, '127.0.0.1', resolve));
    const extension = this.#options.extension ?? EXTENSION;
    this.context = await chromium.launchPersistentContext(join(this.folder, 'profile'), {
      executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
      ignoreDefaultArgs: ['--disable-extensions'],
      colorScheme: this.#options.colorScheme ?? 'light',
      args: [
        `--load-extension=${extension}`,
        `--disable-extensions-except=${extension}`,
        '--disable-features=DisableLoadExtensionCommandLineSwitch',
        `--proxy-server=http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`,
        '--proxy-bypass-list=<-loopback>',
        // Pages over HTTP have no crypto.subtle, which the script for a site's pages needs.
        '--unsafely-treat-insecure-origin-as-secure=http://hostile.test',
        '--no-sandbox',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    this.context.setDefaultTimeout(20_000);
    await this.worker();
    return this;
  }

  /** The service worker, which may have been started again. */
  async worker(): Promise<Worker> {
    let found = this.context.serviceWorkers()[0];
    found ??= await this.context.waitForEvent('serviceworker');
    return found;
  }

  async extensionUrl(page: string): Promise<string> {
    return new URL(page, (await this.worker()).url()).href;
  }

  /** Enters the server in the options, as a user would. */
  async configure(token = ''): Promise<void> {
    const page = await this.context.newPage();
    await page.goto(await this.extensionUrl('options.html'));
    await page.locator('#address').fill(this.service.invitation);
    await page.locator('#token').fill(token);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForSelector('#lists tbody tr');
    await page.close();
  }

  /** Makes the extension synchronise now. */
  async sync(): Promise<void> {
    const page = await this.context.newPage();
    await page.goto(await this.extensionUrl('options.html'));
    await page.evaluate(`chrome.runtime.sendMessage({ type: 'sync' })`);
    await page.close();
  }

  /** Opens a page and returns the badge that it gets. */
  async visit(page: Page, url: string): Promise<string> {
    await (await this.worker()).evaluate("annotatorLast.url = ''");
    await page.goto(url);
    await until(`the badge of ${url}`, async () => {
      const worker = await this.worker();
      return (await worker.evaluate('annotatorLast.url')) === url;
    });
    return this.badgeOf(url);
  }

  /** The badge of the tab that shows a page. */
  async badgeOf(url: string): Promise<string> {
    const worker = await this.worker();
    return worker.evaluate(async (shown) => {
      // biome-ignore lint/suspicious/noExplicitAny: this runs in the extension
      const { chrome } = globalThis as any;
      const tab = (await chrome.tabs.query({})).find((one: { url: string }) => one.url === shown);
      return chrome.action.getBadgeText({ tabId: tab.id });
    }, url);
  }

  /** Requests to the server since `from`, with their answers. */
  traffic(from = 0): readonly Recorded[] {
    return this.recorded.slice(from).filter(({ host }) => host === new URL(SERVER).host);
  }

  async close(): Promise<void> {
    await this.context?.close();
    await this.service?.close();
    this.#proxy.closeAllConnections();
    this.#proxy.close();
    this.notes.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://unknown.test');
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const body = Buffer.concat(parts);
    const entry: Recorded = {
      host: url.host,
      method: request.method ?? '',
      path: url.pathname + url.search,
      sent: `${request.method} ${request.url}\n${request.rawHeaders.join('\n')}\n${body.toString('latin1')}`,
      received: '',
    };
    this.recorded.push(entry);
    if (entry.host === new URL(SERVER).host) {
      if (this.isOffline) response.destroy();
      else this.#forward(request, response, entry, body);
      return;
    }
    if (url.pathname === '/annotations-site.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(SITE_SCRIPT));
      return;
    }
    const { html, headers = {} } = this.#options.page?.(url) ?? {
      html: '<!doctype html><title>A page</title>',
    };
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html);
  }

  #forward(request: IncomingMessage, response: ServerResponse, entry: Recorded, body: Buffer): void {
    const { host: _, 'proxy-connection': __, ...headers } = request.headers;
    const out = httpRequest(
      { host: '127.0.0.1', port: this.service.port, method: entry.method, path: entry.path, headers },
      async (answer) => {
        const parts: Buffer[] = [];
        for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
        const received = Buffer.concat(parts);
        const changed = this.tamper?.(entry.path, received) ?? received;
        entry.received = `${answer.rawHeaders.join('\n')}\n${changed.toString('latin1')}`;
        response.writeHead(answer.statusCode ?? 500, { ...answer.headers, 'content-length': changed.length });
        response.end(changed);
      },
    );
    out.on('error', () => response.destroy());
    out.end(body);
  }
}
