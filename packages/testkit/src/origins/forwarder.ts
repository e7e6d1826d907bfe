/**
 * An origin that serves the contents of a real server from this machine's configuration (a mirror,
 * a registry). It asks that server for everything and counts the requests. It adds a lifetime to
 * responses without one, as the public servers of that kind do; some mirrors inside companies leave
 * it out, and then a cache has nothing to rely on. So counts are exact whatever server the machine
 * is configured for.
 */

import { once } from 'node:events';
import { createServer, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Forwarder extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  /** Method and target of each request, in order. */
  readonly asked: string[];
}

export interface ForwarderOptions {
  /** Scheme and host, and the path below which all targets lie. */
  readonly upstream: URL;
  /** An HTTP proxy to use. */
  readonly proxy?: URL | undefined;
  /** Authorities to trust, in PEM. */
  readonly ca?: string | undefined;
}

export async function startForwarder({ upstream, proxy, ca }: ForwarderOptions): Promise<Forwarder> {
  const asked: string[] = [];
  const base = upstream.pathname.replace(/\/$/, '');
  const request = proxy === undefined && upstream.protocol === 'https:' ? secureRequest : plainRequest;
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    const path = base + req.url;
    const { hostname, port } = proxy ?? upstream;
    const { host: _host, connection: _connection, ...headers } = req.headers;
    const further = request(
      {
        hostname,
        ...(port === '' ? {} : { port }),
        path: proxy === undefined ? path : upstream.origin + path,
        method: req.method,
        headers: { ...headers, host: upstream.host },
        // The other side may close a kept-alive connection at the moment of its next use, which
        // would be a 502 here.
        agent: false,
        timeout: 20_000,
        ...(ca === undefined ? {} : { ca }),
      },
      (answer) => {
        const { connection: _hop, 'transfer-encoding': _coding, ...fields } = answer.headers;
        if (answer.statusCode! < 500 && fields['cache-control'] === undefined && fields.expires === undefined)
          fields['cache-control'] = 'public, max-age=300';
        res.writeHead(answer.statusCode!, fields);
        answer.pipe(res);
      },
    );
    further.on('timeout', () => further.destroy(new Error('no answer')));
    further.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
    further.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
