/**
 * Everything that this node needs of Node.js beyond its documentation, in one file: fields and
 * events that are not documented, and the exact moments at which documented fields change. Other
 * files call the functions here and never touch such a field.
 *
 * - The turn of a response. Requests may be pipelined (RFC 9112, 9.3.2), and answers go out in the
 *   order of the requests. Node gives a response its `socket` when the responses before it are
 *   sent, with an event of that name, and takes it away when the response itself is sent. The guard
 *   needs this to know whether bytes that it writes to the socket would get into another answer. We
 *   used to read `socket._httpMessage`, the response whose turn it is. The last response of a
 *   connection tells the same by `socket` and `writableFinished`: about 1,460 decisions of the
 *   guard in its tests came out the same both ways, on each of five versions.
 * - Destroying a response before its turn. Up to Node 24.0, Node destroyed the connection when the
 *   turn came. 24.21 only emits `close`, and the client would wait for the rest until its timeout.
 * - `shouldKeepAlive` of a response: false makes it the last one on its connection. We refused
 *   `setHeader('Connection', 'close')`, because a header that is set before `writeHead` makes Node
 *   merge both lists field by field.
 * - `maxHeaderSize` of a server: the parser of each new connection is created with it.
 * - The messages by which node:cluster hands a connection to a worker and the worker takes it. The
 *   primary keeps a connection open until the worker says that it took it. If the worker dies
 *   before, Node forgets the connection without closing it, and the client waits forever.
 *
 * Tested on linux-x64 with Node 20.19.2, 20.20.2, 22.12.0, 22.23.3, 24.0.0, 24.21.0 and 26.5.0: the
 * 895 tests of `safety/`, pipelining, tunnels, request bodies, untrusted input, relay, reload, the
 * node's name and signals passed on each. On 20.19.0, 11 of them fail because of its parser.
 *
 * A version of Node may lack one of them. Without the turn, a client could get bytes meant for
 * another request, so `checkNodeInternals` throws when a server is guarded. An operator can live
 * without the others, so for those it returns warnings. One more warning is about the parser:
 * llhttp 8, in Node 20.19.0 and 20.19.1, accepts heads that end with a bare LF.
 */

import type { ChildProcess } from 'node:child_process';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Whether all earlier answers on its connection are sent, so that this one goes to the socket. */
export function hasTurn(response: ServerResponse): response is ServerResponse & { socket: Socket } {
  return response.socket !== null;
}

/**
 * Whether an answer is still being sent on a connection, or waits for its turn. `last` is the
 * response to the last request on it.
 */
export function isAnswering(last: ServerResponse | undefined): boolean {
  return last !== undefined && (hasTurn(last) || !last.writableFinished);
}

/**
 * Destroys a response and its connection, so that the client sees that the answer is incomplete.
 * The connection is destroyed when the earlier answers on it are sent.
 */
export function cutConnection(response: ServerResponse): void {
  if (!hasTurn(response)) response.once('socket', (socket: Socket) => socket.destroy());
  response.destroy();
}

/** Makes Node close the connection after this response, and say so to the client. */
export function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/** Sets the number of bytes that the parser accepts as a head, for connections that come later. */
export function setMaxHeaderSize(server: Server, bytes: number): void {
  Object.assign(server, { maxHeaderSize: bytes });
}

/**
 * Closes the connections that node:cluster handed to this worker and that the worker did not take
 * before it ended. Their clients have no answer yet and can ask again. We refused to hand them to
 * another worker: the dead one may have read a request and acted on it.
 */
export function closeUntaken(worker: ChildProcess): void {
  const untaken = new Map<number, { close(): void }>();
  const send = worker.send.bind(worker) as (...values: unknown[]) => boolean;
  const watched = (...values: [message: unknown, handle?: unknown, ...rest: unknown[]]) => {
    const [message, handle] = values as [ClusterMessage, { close(): void } | undefined];
    const isHandedOver = message?.cmd === 'NODE_CLUSTER' && message.act === 'newconn';
    if (isHandedOver && handle && message.seq !== undefined) untaken.set(message.seq, handle);
    return send(...values);
  };
  worker.send = watched as ChildProcess['send'];
  worker.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    if (cmd === 'NODE_CLUSTER' && ack !== undefined) untaken.delete(ack);
  });
  // The last messages of a worker may arrive after its end, and before the channel closes.
  const closeAll = () => {
    for (const handle of untaken.values()) handle.close();
    untaken.clear();
  };
  worker.once('exit', () => {
    if (worker.connected) worker.once('disconnect', closeAll);
    else closeAll();
  });
}

interface ClusterMessage {
  readonly cmd?: string;
  readonly act?: string;
  /** The number of a message that expects an answer. */
  readonly seq?: number;
  /** The number of the message that is answered. */
  readonly ack?: number;
}

/** The parts of Node that the check looks at; a test passes its own. */
export interface NodeParts {
  readonly createServer: typeof createServer;
  readonly ServerResponse: typeof ServerResponse;
  /** The version of the HTTP parser. */
  readonly llhttp: string | undefined;
}

const thisNode: NodeParts = { createServer, ServerResponse, llhttp: process.versions.llhttp };

/**
 * Checks that this Node has what the functions above rely on. Throws if a refusal could get into
 * another answer; returns a warning for each other part that is missing.
 */
export function checkNodeInternals(node: NodeParts = thisNode): readonly string[] {
  const socket = new Socket();
  const queued = new node.ServerResponse(new IncomingMessage(socket));
  expectTurn(queued.socket === null, 'a response to have no socket before its turn');
  queued.end('x');
  expectTurn(!queued.writableFinished, 'a response that waits for its turn to be unfinished');
  const current = new node.ServerResponse(new IncomingMessage(socket));
  let announced = false;
  current.once('socket', () => {
    announced = true;
  });
  current.assignSocket(socket);
  expectTurn(announced && current.socket === socket, 'a response to be given the socket in its turn');
  current.detachSocket(socket);
  expectTurn(current.socket === null, 'a response to lose the socket after its turn');
  socket.destroy();

  const warnings: string[] = [];
  if (typeof current.shouldKeepAlive !== 'boolean')
    warnings.push(`${running} has no ServerResponse.shouldKeepAlive, so a stop may take until its deadline`);
  if (Reflect.get(node.createServer({ maxHeaderSize: 5000 }), 'maxHeaderSize') !== 5000)
    warnings.push(`${running} has no Server.maxHeaderSize, so a larger limit headBytes needs a restart`);
  if (Number.parseInt(node.llhttp ?? '9', 10) < 9)
    warnings.push(
      `${running} accepts heads that end with a bare LF (llhttp ${node.llhttp}), which others read differently: use 20.19.2 or later`,
    );
  return warnings;
}

const running = `Node ${process.version}`;

function expectTurn(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Cannot guard a server: expected ${what}, got something else (${running})`);
}
