/**
 * The functions on the server that test and set in one step. They are loaded by FUNCTION LOAD as a
 * library whose name holds a digest of its text, so that two releases do not disturb each other. A
 * server or a user without functions gets the same text as EVAL scripts.
 *
 * All functions begin with the same questions (`judge`): is this the filter that the caller knows,
 * on a server that is settled, with all its stages? Otherwise nothing is tested or set.
 */

import { createHash } from 'node:crypto';
import type { RedisArgument, RedisConnection } from '../redis/redis-client.ts';

/**
 * KEYS[1] is the hash of the description; its other keys are the prefix in args[1] and a number.
 *
 * - claim: prefix, lineage, server, probes. Answers 'ok', a character per key ('1' certainly new,
 *   '0' maybe seen), the number of calls, and the number of stages. There are fewer characters
 *   than keys if the newest stage is full.
 * - ask: the same without setting: '0' certainly not, '1' maybe.
 * - look: prefix, lineage, calls that the caller knows of, settleMs. Settles or doubts a server.
 * - make: prefix, lineage, version, scheme, capacity, rate, engine, accepted lineage, blocks and
 *   capacity of the first stage.
 * - grow: prefix, lineage, number of the stage, blocks, capacity.
 */
const BODY = `
local function field(keys, name) return redis.call('HGET', keys[1], name) or '' end
local function replid() return string.sub(string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)'), 1, 12) end
local function nowMs() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end
local function stageKey(args, stage) return args[1] .. ':stage:' .. stage end

local function stagesOf(keys, args)
  local found = {}
  local count = tonumber(field(keys, 'stages'))
  for i = 1, count do
    local blocks = tonumber(field(keys, 'blocks:' .. i))
    found[i] = { key = stageKey(args, i), blocks = blocks }
    if blocks > 0 and redis.call('STRLEN', found[i].key) ~= 32 * blocks then return nil end
    if blocks == 0 and redis.call('EXISTS', found[i].key) == 0 then return nil end
  end
  return found
end

local function judge(keys, args)
  local meta = redis.call('HMGET', keys[1], 'lineage', 'server', 'doubted')
  if not meta[1] then return 'missing' end
  if meta[1] ~= args[2] then return 'lineage' end
  if meta[3] ~= '0' then return 'doubted' end
  if meta[2] ~= args[3] then return 'moved' end
  return 'ok'
end

local FORMAT = '<i4i4i4i4i4i4i4i4'
local function blocksStep(stages, probes, sets, room)
  local answers, fresh = {}, 0
  local newest = #stages
  for at = 1, #probes, 12 do
    local high = struct.unpack('<I4', probes, at)
    local b1, b2, b3, b4, b5, b6, b7, b8 = string.byte(probes, at + 4, at + 11)
    local m1, m2, m3, m4 = bit.lshift(1, b1), bit.lshift(1, b2), bit.lshift(1, b3), bit.lshift(1, b4)
    local m5, m6, m7, m8 = bit.lshift(1, b5), bit.lshift(1, b6), bit.lshift(1, b7), bit.lshift(1, b8)
    local w1, w2, w3, w4, w5, w6, w7, w8, place
    local seen = false
    for s = 1, newest do
      place = 32 * math.floor(high * stages[s].blocks / 4294967296)
      local block = redis.call('GETRANGE', stages[s].key, place, place + 31)
      w1, w2, w3, w4, w5, w6, w7, w8 = struct.unpack(FORMAT, block)
      seen = bit.band(w1, m1) ~= 0 and bit.band(w2, m2) ~= 0 and bit.band(w3, m3) ~= 0 and bit.band(w4, m4) ~= 0
        and bit.band(w5, m5) ~= 0 and bit.band(w6, m6) ~= 0 and bit.band(w7, m7) ~= 0 and bit.band(w8, m8) ~= 0
      if seen then break end
    end
    if sets and not seen then
      -- The newest stage is full: the caller adds a stage, and sends the rest again.
      if fresh == room then break end
      redis.call('SETRANGE', stages[newest].key, place, struct.pack(FORMAT,
        bit.bor(w1, m1), bit.bor(w2, m2), bit.bor(w3, m3), bit.bor(w4, m4),
        bit.bor(w5, m5), bit.bor(w6, m6), bit.bor(w7, m7), bit.bor(w8, m8)))
      fresh = fresh + 1
    end
    answers[#answers + 1] = (sets ~= seen) and '1' or '0'
  end
  return table.concat(answers), fresh
end

local function moduleStep(stages, hashes, sets)
  local items = {}
  for at = 1, #hashes, 8 do items[#items + 1] = string.sub(hashes, at, at + 7) end
  local said = redis.call(sets and 'BF.MADD' or 'BF.MEXISTS', stages[1].key, unpack(items))
  local answers, fresh = {}, 0
  for i = 1, #items do
    local isOne = said[i] == 1 or said[i] == true
    if sets and isOne then fresh = fresh + 1 end
    answers[i] = isOne and '1' or '0'
  end
  return table.concat(answers), fresh
end

local function step(keys, args, sets)
  local verdict = judge(keys, args)
  if verdict ~= 'ok' then return { verdict } end
  local stages = stagesOf(keys, args)
  if not stages then
    if sets then redis.call('HSET', keys[1], 'doubted', '1') end
    return { 'doubted' }
  end
  local newest = #stages
  local room = field(keys, 'capacity:' .. newest) - field(keys, 'count:' .. newest)
  local run = stages[1].blocks == 0 and moduleStep or blocksStep
  local answers, fresh = run(stages, args[4], sets, room)
  if not sets then return { 'ok', answers } end
  redis.call('HINCRBY', keys[1], 'count:' .. newest, fresh)
  local calls = redis.call('HINCRBY', keys[1], 'calls', 1)
  return { 'ok', answers, string.format('%.0f', calls), tostring(newest) }
end

local function claim(keys, args) return step(keys, args, true) end
local function ask(keys, args) return step(keys, args, false) end

local function facts(keys)
  local count = 0
  for i = 1, tonumber(field(keys, 'stages')) do count = count + tonumber(field(keys, 'count:' .. i)) end
  return { field(keys, 'lineage'), field(keys, 'scheme'), field(keys, 'capacity'), field(keys, 'rate'),
    field(keys, 'engine'), field(keys, 'stages'), string.format('%.0f', count), field(keys, 'calls'), field(keys, 'accepted') }
end

local function look(keys, args)
  local now = replid()
  if redis.call('EXISTS', keys[1]) == 0 then return { 'missing', now, {} } end
  local known = facts(keys)
  if args[2] ~= '' and known[1] ~= args[2] and not string.find(known[9], args[2], 1, true) then
    -- Another filter took the place of the one that the caller knows, and its keys are gone.
    local lost = field(keys, 'lost')
    if not string.find(lost, args[2], 1, true) then lost = string.sub(args[2] .. ',' .. lost, 1, 9 * 32) end
    redis.call('HSET', keys[1], 'doubted', '1', 'lost', lost)
  end
  if known[1] == args[2] and tonumber(args[3]) > tonumber(known[8]) then
    redis.call('HSET', keys[1], 'doubted', '1')
  end
  if field(keys, 'server') ~= now then
    if field(keys, 'pending') ~= now then redis.call('HSET', keys[1], 'pending', now, 'since', nowMs()) end
    if nowMs() - tonumber(field(keys, 'since')) >= tonumber(args[4]) then
      redis.call('HSET', keys[1], 'server', now)
    end
  end
  if field(keys, 'doubted') ~= '0' then return { 'doubted', now, known } end
  if field(keys, 'server') ~= now then return { 'moved', now, known } end
  return { 'ok', now, known }
end

local function make(keys, args)
  local before = field(keys, 'lineage')
  if before ~= '' and before ~= args[8] then return 0 end
  -- Lineages whose loss a caller accepted, newest first: that of the filter that is replaced, and
  -- those that members missed in it. A member that missed one of them may look only now.
  local accepted = string.sub(args[8] .. ',' .. field(keys, 'lost') .. field(keys, 'accepted'), 1, 9 * 32)
  for i = 1, tonumber(before ~= '' and field(keys, 'stages') or 0) do redis.call('UNLINK', stageKey(args, i)) end
  redis.call('DEL', keys[1], stageKey(args, 1))
  redis.call('HSET', keys[1], 'lineage', args[2], 'version', args[3], 'scheme', args[4], 'capacity', args[5],
    'rate', args[6], 'engine', args[7], 'accepted', accepted, 'stages', 1, 'blocks:1', args[9], 'capacity:1', args[10],
    'count:1', 0, 'calls', 0, 'doubted', '0', 'server', '', 'pending', replid(), 'since', nowMs())
  if args[9] == '0' then redis.call('BF.RESERVE', stageKey(args, 1), args[6], args[5])
  else redis.call('SETRANGE', stageKey(args, 1), 32 * args[9] - 1, string.char(0)) end
  return 1
end

local function grow(keys, args)
  if field(keys, 'lineage') ~= args[2] or tonumber(field(keys, 'stages')) + 1 ~= tonumber(args[3]) then return 0 end
  redis.call('DEL', stageKey(args, args[3]))
  redis.call('SETRANGE', stageKey(args, args[3]), 32 * args[4] - 1, string.char(0))
  redis.call('HSET', keys[1], 'stages', args[3], 'blocks:' .. args[3], args[4], 'capacity:' .. args[3], args[5],
    'count:' .. args[3], 0)
  return 1
end
`;

export type SetFunction = 'claim' | 'ask' | 'look' | 'make' | 'grow';

const NAMES: readonly SetFunction[] = ['claim', 'ask', 'look', 'make', 'grow'];
const LIBRARY = `bloomery_${sha1(BODY).slice(0, 10)}`;
const REGISTRATIONS = NAMES.map((name) => `redis.register_function('${LIBRARY}_${name}', ${name})\n`);
const LIBRARY_TEXT = `#!lua name=${LIBRARY}\n${BODY}${REGISTRATIONS.join('')}`;

/** Calls the functions on one connection, as functions or, where these are refused, as scripts. */
export class SetFunctions {
  readonly #connection: RedisConnection;
  #usesScripts: boolean;

  /** `usesScripts` leaves functions out from the beginning. */
  constructor(connection: RedisConnection, usesScripts = false) {
    this.#connection = connection;
    this.#usesScripts = usesScripts;
  }

  async call(name: SetFunction, key: string, words: readonly RedisArgument[]): Promise<unknown> {
    if (!this.#usesScripts) {
      const command = ['FCALL', `${LIBRARY}_${name}`, '1', key, ...words];
      try {
        return await this.#connection.call(command);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      await this.#load();
      if (!this.#usesScripts) return this.#connection.call(command);
    }
    return this.#callScript(name, key, words);
  }

  /** Loads the library, or falls back to scripts if the server or the user has no functions. */
  async #load(): Promise<void> {
    try {
      await this.#connection.call(['FUNCTION', 'LOAD', LIBRARY_TEXT]);
    } catch (error) {
      const { message } = error as Error;
      // Another process loaded it meanwhile.
      if (/already exists/.test(message)) return;
      if (!/NOPERM|unknown command/i.test(message)) throw error;
      this.#usesScripts = true;
    }
  }

  async #callScript(name: SetFunction, key: string, words: readonly RedisArgument[]): Promise<unknown> {
    const text = `${BODY}return ${name}(KEYS, ARGV)`;
    const rest = ['1', key, ...words];
    try {
      return await this.#connection.call(['EVALSHA', sha1(text), ...rest]);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.#connection.call(['EVAL', text, ...rest]);
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && /function not found|NOPERM.*fcall|unknown command/i.test(error.message);
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
