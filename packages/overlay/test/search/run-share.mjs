// A peer in a process of its own, for processes.test.ts: options come as JSON in the first
// argument, and the ports go out as a line of JSON. Peers come later, on standard input, because
// the ports are known only when all peers listen.

import { readInvitation, ShareDaemon } from '@bloomery/overlay/search/node';

const { id, invitation, folders, heartbeatMs } = JSON.parse(process.argv[2]);
const group = { invitation: readInvitation(invitation), folders, heartbeatMs };
const daemon = await ShareDaemon.start({ id, groups: [group] });
await daemon.index();
const [{ peerPort }] = daemon.members;
process.stdout.write(`${JSON.stringify({ control: daemon.control, token: daemon.token, peerPort })}\n`);
process.stdin.setEncoding('utf8');
let text = '';
process.stdin.on('data', (more) => {
  text += more;
  if (!text.includes('\n')) return;
  daemon.members[0].changePeers(JSON.parse(text));
  text = '';
});
process.stdin.on('end', () => process.exit(0));
