/**
 * An origin that has what a real server of this machine's configuration has (a mirror, a registry): asks it for everything, counts, and
 * gives a lifetime to what comes without one, as the public servers of that kind do; some mirrors inside companies leave it out, and
 * then a cache has nothing to go by. So counts are exact whatever the machine is configured for.
 */

import { once } from 'node:events';
import { createServer, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Forwarder extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  /** Method and target of what came, in order. */
  readonly asked: string[];
}

export interface ForwarderOptions {
  /** Scheme and host, and a path that all targets are below. */
  readonly upstream: URL;
  /** An HTTP proxy to go by. */
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
        // A kept-alive connection may be closed by the other side in the moment of its next use, which would be a 502 here.
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
