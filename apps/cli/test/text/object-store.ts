/**
 * An object store over HTTPS, on the loopback interface, that answers as S3 does: keys without
 * folders, an ETag that is the MD5 of the object, `Last-Modified` with the time of the upload in
 * whole seconds, ranges, 416 and errors with a body of XML, a signature in the query, 403 for keys
 * that are not there, and no support of `If-Range`. A test makes it answer otherwise.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface StoredObject {
  readonly body: Buffer;
  /** The time of the upload, in seconds. */
  readonly uploaded: number;
}

export interface StoreAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Certificate {
  /** The path of the certificate, for clients. */
  readonly path: string;
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Makes a certificate that signs itself, for the names of this machine. */
export function makeCertificate(folder: string): Certificate {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const files = ['-keyout', key, '-out', cert, '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  execFileSync('openssl', [...kind, '-nodes', '-days', '2', ...files, ...names], { stdio: 'ignore' });
  return { path: cert, key: readFileSync(key), cert: readFileSync(cert) };
}

export class ObjectStore {
  readonly objects = new Map<string, StoredObject>();
  /** The signature that the query of each request must have. */
  readonly signature: string;
  readonly #server: ReturnType<typeof createServer>;
  /** Requests, as "GET key bytes=0-9". */
  readonly requests: string[] = [];
  /** Called before each answer; what it returns is sent instead. */
  instead: (key: string, request: IncomingMessage, answer: () => StoreAnswer) => StoreAnswer = (
    _,
    __,
    answer,
  ) => answer();

  private constructor(certificate: Certificate, signature: string) {
    this.signature = signature;
    this.#server = createServer(certificate, (request, response) => {
      const url = new URL(request.url ?? '/', 'https://host');
      const key = decodeURIComponent(url.pathname).slice(1);
      this.requests.push(`${request.method} ${key} ${request.headers.range ?? ''}`.trimEnd());
      const isSigned = url.searchParams.get('X-Amz-Signature') === this.signature;
      const answer = () => (isSigned ? this.#answer(key, request) : refusal(403, 'SignatureDoesNotMatch'));
      const { status, headers, body } = this.instead(key, request, answer);
      response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : body);
    });
  }

  static async start(certificate: Certificate, signature = 'f00d'): Promise<ObjectStore> {
    const store = new ObjectStore(certificate, signature);
    await new Promise<void>((resolve) => store.#server.listen(0, '127.0.0.1', resolve));
    return store;
  }

  /** The address of a key, with the signature. */
  url(key: string): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}/${key}?X-Amz-Signature=${this.signature}`;
  }

  put(key: string, body: Uint8Array, uploaded: number): void {
    this.objects.set(key, { body: Buffer.from(body), uploaded });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(key: string, request: IncomingMessage): StoreAnswer {
    const found = this.objects.get(key);
    // Without the right to list a bucket, a key that is not there is one that may not be read.
    if (found === undefined) return refusal(403, 'AccessDenied');
    const { body, uploaded } = found;
    const headers = {
      etag: `"${createHash('md5').update(body).digest('hex')}"`,
      'last-modified': new Date(1000 * uploaded).toUTCString(),
      'accept-ranges': 'bytes',
      'content-type': 'application/octet-stream',
    };
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    if (range === null)
      return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body };
    const first = Number(range[1]);
    const last = Math.min(range[2] === '' ? Number.POSITIVE_INFINITY : Number(range[2]), body.length - 1);
    if (first > last) return refusal(416, 'InvalidRange');
    const part = body.subarray(first, last + 1);
    const fields = {
      'content-range': `bytes ${first}-${last}/${body.length}`,
      'content-length': String(part.length),
    };
    return { status: 206, headers: { ...headers, ...fields }, body: part };
  }
}

/** An error as S3 sends it. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): StoreAnswer {
  const body = Buffer.from(`<?xml version="1.0"?>\n<Error><Code>${code}</Code></Error>`);
  return {
    status,
    headers: { 'content-type': 'application/xml', 'content-length': String(body.length), ...headers },
    body,
  };
}
