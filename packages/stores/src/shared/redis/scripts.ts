/**
 * The scripts that run on the server. Each is one step for all members: it looks at the state and
 * changes it without another command in between. They are EVAL scripts, which every Redis since 2.6
 * has; XINFO's count of entries needs Redis 7.
 */

import { createHash } from 'node:crypto';
import type { RedisArgument, RedisConnection } from './redis-client.ts';

export interface Script {
  readonly text: string;
  readonly digest: string;
}

function script(text: string): Script {
  const whole = `${PRELUDE}${text}`;
  return { text: whole, digest: createHash('sha1').update(whole).digest('hex') };
}

/** KEYS: meta, members, lease. ARGV[1] is always the prefix of the other keys. */
const PRELUDE = `
local function field(name) return redis.call('HGET', KEYS[1], name) or '' end
local function name(kind, lineage, epoch) return ARGV[1] .. ':' .. kind .. ':' .. lineage .. ':' .. epoch end
local function logName() return name('log', field('lineage'), field('epoch')) end
local function server() return string.sub(string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)'), 1, 12) end
local function nowMs() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end
local function logEnd(key)
  if redis.call('EXISTS', key) == 0 then return {} end
  local info = redis.call('XINFO', 'STREAM', key)
  local found = {}
  for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
  return { found['last-generated-id'], string.format('%.0f', found['entries-added']) }
end
`;

/**
 * One look: meta, end of the log, INFO replication, TIME, members. Each is one text with a line per
 * part: a client decodes five texts in a fraction of the time that a list of all fields takes, and
 * every member looks twice a second. ARGV: prefix, member. A look without a member gets no members.
 * A settled server gives the member only its own line. A server that is not settled gives the lines
 * of all members, because all have to confirm.
 */
export const LOOK = script(`
local replication = redis.call('INFO', 'replication')
local isSettled = field('settled') == string.sub(string.match(replication, 'master_replid:(%x+)'), 1, 12)
local members = {}
if ARGV[2] ~= '' and not isSettled then members = redis.call('HGETALL', KEYS[2]) end
if ARGV[2] ~= '' and isSettled then
  local beat = redis.call('HGET', KEYS[2], ARGV[2])
  if beat then members = { ARGV[2], beat } end
end
return {
  table.concat(redis.call('HGETALL', KEYS[1]), '\\n'),
  table.concat(logEnd(logName()), '\\n'),
  replication,
  table.concat(redis.call('TIME'), '\\n'),
  table.concat(members, '\\n')
}`);

/**
 * Creates a filter, or restores one from the memory of a member, unless there is one with a log.
 * ARGV: prefix, lineage, epoch, base, capacity, rate, scheme, version, upload ('' for none).
 */
export const CREATE = script(`
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('EXISTS', logName()) == 1 then return 0 end
local lineage, epoch, upload = ARGV[2], ARGV[3], ARGV[9]
local log = name('log', lineage, epoch)
redis.call('DEL', KEYS[1], log, name('snapshot', lineage, epoch))
redis.call('XADD', log, '*', 'b', '')
if upload ~= '' then
  redis.call('RENAME', upload, name('snapshot', lineage, epoch))
  redis.call('PERSIST', name('snapshot', lineage, epoch))
end
redis.call('HSET', KEYS[1], 'version', ARGV[8], 'lineage', lineage, 'epoch', epoch, 'base', ARGV[4],
  'capacity', ARGV[5], 'rate', ARGV[6], 'scheme', ARGV[7], 'settled', '', 'pending', server(), 'since', nowMs(),
  'past', '', 'snapshotAt', '0-0', 'snapshotEntries', '0')
return 1`);

/**
 * Makes an upload the snapshot and trims the log. ARGV: prefix, lease token, lineage, epoch,
 * server, position, entries ('' to count them here), upload, first entry that is kept, kind of the
 * entry ('t' or 'm').
 */
export const PUBLISH = script(`
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 'lease' end
if field('lineage') ~= ARGV[3] or field('epoch') ~= ARGV[4] then return 'epoch' end
if server() ~= ARGV[5] then return 'server' end
local log = logName()
local last = logEnd(log)
if #last == 0 or redis.call('EXISTS', ARGV[8]) == 0 then return 'gone' end
local entries = ARGV[7]
if entries == '' then
  entries = string.format('%.0f', last[2] - #redis.call('XRANGE', log, '(' .. ARGV[6], '+'))
end
local snapshot = name('snapshot', ARGV[3], ARGV[4])
redis.call('RENAME', ARGV[8], snapshot)
redis.call('PERSIST', snapshot)
redis.call('HSET', KEYS[1], 'snapshotAt', ARGV[6], 'snapshotEntries', entries)
redis.call('XADD', log, '*', ARGV[10], string.format('%.0f', last[2] + 1))
redis.call('XTRIM', log, 'MINID', ARGV[9])
return 'done'`);

/**
 * Begins a new epoch with an upload that contains the log up to a position. Adds after it are
 * copied to the new log; if they are many, the answer is 'behind'. ARGV: prefix, lease token,
 * lineage, epoch, server, position, upload, capacity, rate.
 */
export const REBUILD = script(`
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 'lease' end
if field('lineage') ~= ARGV[3] or field('epoch') ~= ARGV[4] then return 'epoch' end
if server() ~= ARGV[5] then return 'server' end
local old = logName()
if redis.call('EXISTS', old) == 0 or redis.call('EXISTS', ARGV[7]) == 0 then return 'gone' end
local rest = redis.call('XRANGE', old, '(' .. ARGV[6], '+', 'COUNT', 1001)
if #rest > 1000 then return 'behind' end
local epoch = string.format('%.0f', ARGV[4] + 1)
local log = name('log', ARGV[3], epoch)
redis.call('XADD', log, '*', 'b', '')
for _, entry in ipairs(rest) do
  if entry[2][1] == 'h' then redis.call('XADD', log, '*', 'h', entry[2][2]) end
end
redis.call('RENAME', ARGV[7], name('snapshot', ARGV[3], epoch))
redis.call('PERSIST', name('snapshot', ARGV[3], epoch))
redis.call('UNLINK', old, name('snapshot', ARGV[3], ARGV[4]))
redis.call('HSET', KEYS[1], 'epoch', epoch, 'base', epoch, 'capacity', ARGV[8], 'rate', ARGV[9],
  'snapshotAt', '0-0', 'snapshotEntries', '0')
return 'done'`);

/**
 * Notes that the log on this server may be incomplete. ARGV: prefix, '1' to doubt a settled one.
 */
export const DOUBT = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local now = server()
if field('settled') == now and ARGV[2] ~= '1' then return 0 end
if field('settled') == '' and field('pending') == now then return 0 end
local before = field('pending')
if before ~= now then
  local past = before
  local count = 1
  for one in string.gmatch(field('past'), '%x+') do
    if count < 32 and one ~= before and one ~= now then past = past .. ',' .. one end
    count = count + 1
  end
  redis.call('HSET', KEYS[1], 'past', past)
end
redis.call('HSET', KEYS[1], 'settled', '', 'pending', now, 'since', nowMs())
return 1`);

/** Declares the log on this server complete. ARGV: prefix, lineage, server. */
export const SETTLE = script(`
if server() ~= ARGV[3] or field('pending') ~= ARGV[3] or field('lineage') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'settled', ARGV[3])
return 1`);

/**
 * Takes the lease for ARGV[3] milliseconds, unless another member has it. A lease that was taken on
 * another server no longer counts: its holder cannot publish here. The holder itself may take it
 * again, after a broken connection. Returns the token, or '' for none. ARGV[2] names the member.
 */
export const TAKE_LEASE = script(`
local token = server() .. ':' .. ARGV[2]
local now = redis.call('GET', KEYS[3])
if now and now ~= token and string.sub(now, 1, 12) == server() then return '' end
redis.call('SET', KEYS[3], token, 'PX', ARGV[3])
return token`);

/** Prolongs (ARGV[3] milliseconds) or gives back ('0') a lease, if it is the caller's. */
export const KEEP_LEASE = script(`
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end
if ARGV[3] == '0' then return redis.call('DEL', KEYS[3]) end
return redis.call('PEXPIRE', KEYS[3], ARGV[3])`);

/** Runs a script by its digest, and sends its text if the server does not know it yet. */
export async function runScript(
  connection: RedisConnection,
  { text, digest }: Script,
  keys: readonly string[],
  words: readonly RedisArgument[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...words];
  try {
    return await connection.call(['EVALSHA', digest, ...rest]);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return connection.call(['EVAL', text, ...rest]);
  }
}
