// The exceptions of the rules in this folder, each with a reason. An exception that is no longer
// needed is a problem as well.

/**
 * Error classes whose messages have a grammar of their own.
 * @type {{ name: string, why: string }[]}
 */
export const OWN_GRAMMAR = [
  {
    name: 'UsageError',
    why: 'main.ts prints it after "bloomery: ", as "<file or option> <what is wrong>; <what to do>", like other commands',
  },
  {
    name: 'InvalidArgumentError',
    why: 'commander puts "error: option … argument … is invalid." before it, and so it is a sentence with a full stop',
  },
  {
    name: 'SpellingError',
    why: 'names the place in the user\'s file first, as compilers do: "<file>, line <n>: <what is wrong>"',
  },
  {
    name: 'PatternError',
    why: 'names the line first; the command puts the file before it',
  },
  {
    name: 'OriginError',
    why: 'clients read it as the body of an answer in which the node speaks: "<origin>: <what is wrong>"',
  },
];

const SETTING =
  'the reader of the configuration puts the name of the setting before it: "--listen: expected …, got …"';
const DETAIL = 'selftest shows it as the detail of a check: "<what>: <what was found>, expected <what>"';
const PAPERS =
  'bloomery papers prints it after "bloomery: ", as a UsageError, which apps/papers cannot import';

const SLOW = 'a peer that is slow on purpose, so that others come while it is under way';
const RANDOM = 'kills, leaves and storms come at moments that nothing determines';
const QUIET = 'shows that nothing happens for a while, and no event tells that';
const BUFFERS = 'lets the buffers of the kernel fill, and no event tells that they are full';
const ARRIVAL = 'bytes that were sent must arrive first, and no event on this side tells that they did';

/**
 * Files that break a rule a known number of times.
 * @type {{ rule: string, path: string, count: number, why: string }[]}
 */
export const EXCEPTIONS = [
  {
    rule: 'error-grammar',
    path: 'packages/cache/src/node/config/config-sources.ts',
    count: 1,
    why: 'a list of several problems, each of which has its own line',
  },
  { rule: 'error-grammar', path: 'packages/cache/src/node/config/listen-address.ts', count: 1, why: SETTING },
  {
    rule: 'error-grammar',
    path: 'packages/cache/src/node/config/meeting/group-config.ts',
    count: 1,
    why: SETTING,
  },
  {
    rule: 'error-grammar',
    path: 'packages/cache/src/node/config/meeting/nats-config.ts',
    count: 1,
    why: SETTING,
  },
  { rule: 'error-grammar', path: 'packages/cache/src/node/config/peer-address.ts', count: 1, why: SETTING },
  { rule: 'error-grammar', path: 'packages/cache/src/node/config/peer-config.ts', count: 2, why: SETTING },
  { rule: 'error-grammar', path: 'packages/cache/src/node/config/setting-reader.ts', count: 2, why: SETTING },
  {
    rule: 'error-grammar',
    path: 'packages/cache/src/node/config/upstream-config.ts',
    count: 7,
    why: SETTING,
  },
  { rule: 'error-grammar', path: 'apps/cli/src/selftest/bytes.ts', count: 1, why: DETAIL },
  { rule: 'error-grammar', path: 'apps/cli/src/selftest/self-check.ts', count: 2, why: DETAIL },
  { rule: 'error-grammar', path: 'apps/papers/src/documents.ts', count: 3, why: PAPERS },
  { rule: 'error-grammar', path: 'apps/papers/src/main.ts', count: 3, why: PAPERS },
  { rule: 'error-grammar', path: 'apps/papers/src/parts.ts', count: 1, why: PAPERS },
  { rule: 'error-grammar', path: 'apps/papers/src/reproduce.ts', count: 1, why: PAPERS },
  { rule: 'real-timers', path: 'apps/cli/test/commands/cache.test.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'apps/cli/test/in-place/kill.test.ts', count: 2, why: RANDOM },
  { rule: 'real-timers', path: 'packages/cache/src/node/log/access-log.test.ts', count: 1, why: BUFFERS },
  {
    rule: 'real-timers',
    path: 'packages/cache/src/store/tiered/tiered-store-pressure.test.ts',
    count: 4,
    why: QUIET,
  },
  { rule: 'real-timers', path: 'packages/cache/test/chaos/flights.test.ts', count: 3, why: RANDOM },
  { rule: 'real-timers', path: 'packages/cache/test/chaos/kill.test.ts', count: 2, why: RANDOM },
  { rule: 'real-timers', path: 'packages/cache/test/chaos/origins.test.ts', count: 2, why: QUIET },
  { rule: 'real-timers', path: 'packages/cache/test/node/node.test.ts', count: 1, why: QUIET },
  { rule: 'real-timers', path: 'packages/cache/test/node/pace.test.ts', count: 1, why: BUFFERS },
  { rule: 'real-timers', path: 'packages/cache/test/node/relay.test.ts', count: 5, why: SLOW },
  {
    rule: 'real-timers',
    path: 'packages/cache/test/node/workers.test.ts',
    count: 3,
    why: 'the watch that is tested measures silence by the real clock',
  },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/faults.test.ts', count: 1, why: ARRIVAL },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/flight.test.ts', count: 3, why: QUIET },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/forward.test.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/origin.test.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/pieces.test.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/pipelining.test.ts', count: 1, why: QUIET },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/request-body.test.ts', count: 1, why: QUIET },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/single-flight.test.ts', count: 3, why: ARRIVAL },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/storm.test.ts', count: 2, why: RANDOM },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/tunnel.test.ts', count: 2, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/untrusted-input.test.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/proxy/verdicts.test.ts', count: 3, why: SLOW },
  { rule: 'real-timers', path: 'packages/cache/test/safety/node.test.ts', count: 1, why: ARRIVAL },
  { rule: 'real-timers', path: 'packages/cache/test/safety/smuggling.test.ts', count: 1, why: ARRIVAL },
  { rule: 'real-timers', path: 'packages/cache/test/store/stored-responses.ts', count: 1, why: SLOW },
  {
    rule: 'real-timers',
    path: 'packages/testkit/src/eventually.ts',
    count: 1,
    why: 'the one place that asks again and again',
  },
  {
    rule: 'real-timers',
    path: 'packages/testkit/src/faults/checked-crowd.ts',
    count: 1,
    why: 'clients ask at a constant rate, if the caller wants one',
  },
  {
    rule: 'real-timers',
    path: 'packages/testkit/src/fleet/play-trace.ts',
    count: 1,
    why: 'a trace is played at the times that it names',
  },
  {
    rule: 'real-timers',
    path: 'packages/sim/src/engine/seal.test.ts',
    count: 2,
    why: 'shows that a simulation refuses them',
  },
  {
    rule: 'sealed-code',
    path: 'packages/sim/src/engine/event-loop-turn.ts',
    count: 1,
    why: 'the one way out of a run, for signals and reports of rejections',
  },
  { rule: 'real-timers', path: 'packages/testkit/src/origins/origin-lab.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/testkit/src/origins/raw-origin.ts', count: 1, why: ARRIVAL },
  { rule: 'real-timers', path: 'packages/testkit/src/origins/throttled-origin.ts', count: 1, why: SLOW },
  { rule: 'real-timers', path: 'packages/testkit/src/relay/tcp-relay.ts', count: 1, why: SLOW },
];
