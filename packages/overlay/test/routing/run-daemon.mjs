// A route node in a process of its own, for processes.test.ts: options come as JSON in the first
// argument, and the ports go out as a line of JSON on standard error. Peers come later, on standard
// input, because the ports are known only when all nodes listen.

import { RouteDaemon } from '@bloomery/overlay/routing/node';

const options = JSON.parse(process.argv[2]);
const daemon = await RouteDaemon.start({ ...options, secret: Buffer.from(options.secret, 'hex') });
const say = (event, fields) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
say('listening', { control: daemon.control, peerPort: daemon.peerPort });
process.stdin.setEncoding('utf8');
let text = '';
process.stdin.on('data', (more) => {
  text += more;
  if (!text.includes('\n')) return;
  daemon.changePeers(JSON.parse(text));
  text = '';
});
process.stdin.on('end', () => process.exit(0));
