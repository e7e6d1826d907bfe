// Checks that every public asynchronous function takes an AbortSignal, by the declarations of the
// built packages. The exceptions are below, each with its reason.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { problemsOf, publicAsync } from './signals/check-signals.mjs';
import { Declarations } from './signals/declarations.mjs';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const CLOSING = 'closing must not be given up half-way; a deadline limits it where it waits for others';
const STEP =
  'one step of a store, at once or one read or write of the disk: stopped half-way, index and files would disagree';
const QUESTION = 'one question to the DNS; `cancel` of the resolver gives it up, as Node has it';
const CLIENT = 'describes the client that the caller passes in; each command has a deadline';
const ITERATION = 'an iteration ends when its reader stops asking';
const DEADLINE = 'it ends at its deadline, `timeoutMs`, whatever others do';

/**
 * Reasons why a function takes no signal, by package and by the name of the function.
 * @type {Record<string, Record<string, string>>}
 */
const EXCEPTIONS = {
  '@bloomery/cache': {
    'Backing.read': 'one read of a body; `close` of its reader ends it',
    'Backing.settle': STEP,
    'BodyReader.next': 'one read of a body; `close` ends the reader at any time',
    'BodyWriter.commit': STEP,
    'BodyWriter.write': 'one write of a body; `abort` ends the writer',
    'BodyWriter.endUnkept': STEP,
    'CacheNode.close': CLOSING,
    'CacheProxy.close': CLOSING,
    'DiskStore.close': CLOSING,
    'DiskStore.find': STEP,
    'DiskStore.peek': STEP,
    'DiskStore.keys': ITERATION,
    'DiskStore.refresh': STEP,
    'DiskStore.remove': STEP,
    'DiskStore.removeKey': STEP,
    'DiskStore.removeVariant': STEP,
    'LowerStore.removeVariant': STEP,
    'ObjectFinder.find': DEADLINE,
    'MemoryStore.close': CLOSING,
    'MemoryWriter.write': 'one write of a body; `abort` ends the writer',
    'ResponseStore.close': CLOSING,
    'ResponseStore.find': STEP,
    'ResponseStore.peek': STEP,
    'ResponseStore.keys': ITERATION,
    'ResponseStore.refresh': STEP,
    'ResponseStore.remove': STEP,
    'ResponseStore.removeKey': STEP,
    'Spool.push': 'one write of a body; `abort` ends the spool and every wait for it',
    'Spool.room': 'one write of a body; `abort` ends the spool and every wait for it',
    'TieredStore.close': CLOSING,
    'TieredStore.find': STEP,
    'TieredStore.peek': STEP,
    'TieredStore.keys': ITERATION,
    'TieredStore.refresh': STEP,
    'TieredStore.remove': STEP,
    'TieredStore.removeKey': STEP,
  },
  bloomery: {
    'KeyStream.getReader': 'describes a web stream; `addFrom`, which reads it, takes a signal',
  },
  '@bloomery/files': {
    replaceFile: 'a file that is being replaced is the old one or the new one, never half of each',
  },
  '@bloomery/delivery': {
    'BlockServer.start': 'listens on a port; disposing of it ends it',
    'SeededFile.read': 'one read of a block; the server that asked for it limits the time',
    'SharedFile.read': 'one read of a block; the server that asked for it limits the time',
    'WholeFile.close': CLOSING,
    'WholeFile.read': 'one read of a block; the server that asked for it limits the time',
  },
  '@bloomery/overlay': {
    'Directory.change': DEADLINE,
    'Directory.find': DEADLINE,
    'GroupMember.close': CLOSING,
    'GroupMember.index': 'looks at all files; `close` of the member ends it',
    'GroupMember.join': 'listens on a port or begins to connect; `close` ends it',
    'RendezvousDirectory.change': DEADLINE,
    'RendezvousDirectory.find': DEADLINE,
    'RouteDaemon.close': CLOSING,
    'RouteDaemon.start': 'listens on a port; `close` ends it',
    'RouteNode.announce': DEADLINE,
    'RouteNode.change': DEADLINE,
    'RouteNode.close': CLOSING,
    'RouteNode.locate': DEADLINE,
    'RouteNode.withdraw': DEADLINE,
    'SearchWorld.settle': 'virtual time, which its argument limits',
    'ShareDaemon.close': CLOSING,
    'ShareDaemon.index': 'looks at all files; `close` ends it',
    'ShareDaemon.replace': 'closes a member and joins again; `close` ends it',
    'ShareDaemon.start': 'listens on a port; `close` ends it',
    'SharedFolder.fetch': 'reads at most 100 files of 16 MiB for one answer',
    ristretto255: 'loads a module, which cannot be stopped',
  },
  '@bloomery/packets': {
    'Collector.seen': 'one block of each table of the window, a fraction of a second',
    'Collector.source': 'one block of each table of the window, a fraction of a second',
    'DigestService.close': CLOSING,
    'DigestService.start': 'listens on a port; `close` ends it',
    simulateBottleneck: 'computes until the virtual end that its settings say',
    walkBack: 'asks by the function of the caller, whose questions have deadlines',
  },
  '@bloomery/sim': {
    'SimTransport.close': CLOSING,
    'SimTransport.request': 'its options are those of the port, which have a signal',
  },
  '@bloomery/stores': {
    'Guarded.add': 'one step of a filter, in memory or one command of its server',
    'SeenStore.add': "the caller's own store",
    'SeenStore.has': "the caller's own store",
    'PostgresClient.query': 'describes a client of pg, which has no signal',
    'SemiJoin.rows': 'the signal of `semiJoin` ends it as well',
    'IoRedisClient.callBuffer': CLIENT,
    'IoRedisClient.connect': CLIENT,
    'NodeRedisClient.connect': CLIENT,
    'NodeRedisClient.sendCommand': CLIENT,
    'Base.close': CLOSING,
    'Layered.batch': 'a change that is being written cannot be taken back',
    'Layered.close': CLOSING,
    'Layered.delete': 'a change that is being written cannot be taken back',
    'Layered.set': 'a change that is being written cannot be taken back',
    pageId: 'one digest of a short text',
    listKey: 'one digest of a short text',
    'AnnotationService.start': 'it ends when the port is open or taken; `close` ends the service',
    'AnnotationService.close': CLOSING,
    'PostgresQueries.query': 'describes a client of pg, which has no signal',
    'SharedFilter.add': 'an add is in the filter at once and cannot be taken back; `close` ends the wait',
    'SharedFilter.addMany': 'adds are in the filter at once and cannot be taken back; `close` ends the wait',
    'SharedFilter.close': CLOSING,
    'ServerFilter.close': CLOSING,
    'ClusteredFilter.add': 'an add is in the filter at once and cannot be taken back; `close` ends the wait',
    'ClusteredFilter.addMany':
      'adds are in the filter at once and cannot be taken back; `close` ends the wait',
    'ClusteredFilter.close': CLOSING,
  },
  '@bloomery/transport': {
    'GroupTransport.close': CLOSING,
    'HttpTransport.close': CLOSING,
    'MulticastSocket.close': CLOSING,
    'MulticastTransport.close': CLOSING,
    'NameResolver.resolve4': QUESTION,
    'NameResolver.resolve6': QUESTION,
    'NameResolver.resolveSrv': QUESTION,
    'NatsTransport.close': CLOSING,
    'NatsTransport.load': 'loads modules, which cannot be stopped; close() ends the connection',
    loadNatsClient: 'loads modules, which cannot be stopped',
    'Services.answer': 'one request of a neighbour, which gives up on its own side',
    'Transport.close': CLOSING,
  },
};

let count = 0;
for (const { folder, manifest } of readWorkspaces(root)) {
  if (manifest.private || manifest.exports === undefined) continue;
  const entries = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' || target.types === undefined
      ? []
      : [Declarations.of(join(root, folder, target.types))],
  );
  const found = publicAsync(entries);
  count += found.size;
  for (const problem of problemsOf(found, EXCEPTIONS[manifest.name] ?? {})) {
    console.error(`${manifest.name}: ${problem}`);
    process.exitCode = 1;
  }
}
const excepted = Object.values(EXCEPTIONS).reduce((sum, each) => sum + Object.keys(each).length, 0);
if (process.exitCode === undefined)
  console.log(
    `signals: ${count} public asynchronous functions, ${count - excepted} take a signal, ${excepted} have a reason not to`,
  );
