// A node of the tests on a network of namespaces: the built adapter with a real peer port. It reads
// lines from standard input, `publish TEXT` or `status`, and writes one JSON line per event.

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { MulticastTransport } from '@bloomery/transport/multicast';

const [id, ip, group] = process.argv.slice(2);
const PEER_PORT = 3129;
const tell = (event) => void process.stdout.write(`${JSON.stringify(event)}\n`);

const transport = new MulticastTransport({
  id,
  secret: Uint8Array.from({ length: 32 }, (_, i) => i),
  group,
  network: ip,
  address: `http://${ip}:${PEER_PORT}`,
  limits: { heartbeatMs: 500, askMs: 2000 },
});
const server = createServer((request, response) => {
  if (!transport.handle(request, response)) response.writeHead(404).end();
});
server.listen(PEER_PORT, ip, () => tell({ kind: 'listening' }));

const followed = new Set();
transport.watchPeers(({ address, id: peer, state }) => {
  tell({ kind: 'peer', peer, state });
  if (state !== 'up' || followed.has(address)) return;
  followed.add(address);
  transport.subscribe(address, 'x', {
    open: () => tell({ kind: 'open', from: peer }),
    closed: (why) => tell({ kind: 'closed', from: peer, why }),
    message: (bytes) => tell({ kind: 'message', from: peer, text: new TextDecoder().decode(bytes) }),
  });
});

for await (const line of createInterface({ input: process.stdin })) {
  const [command, text] = line.split(' ');
  if (command === 'publish') transport.publish('x', new TextEncoder().encode(text));
  else tell({ kind: 'status', ...transport.status() });
}
await transport.close();
server.closeAllConnections();
server.close();
