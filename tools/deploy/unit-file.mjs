/**
 * Reads a unit of systemd, and checks what `systemd-analyze verify` cannot know: that its settings
 * are settings of the cache, and that its times and its memory fit them.
 */

import { CacheSettings } from './cache-settings.mjs';

/** @typedef {Map<string, string[]>} Unit values by `Section.Key`, in the order of the file */

/**
 * @param {string} text
 * @returns {Unit}
 */
export function parseUnit(text) {
  /** @type {Unit} */
  const unit = new Map();
  let section = '';
  for (const line of text.split('\n')) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue;
    const head = /^\[(\w+)\]$/.exec(line);
    if (head !== null) {
      section = head[1];
      continue;
    }
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (key === undefined) throw new TypeError(`Cannot read a unit: expected Key=value, got ${line}`);
    const name = `${section}.${key}`;
    unit.set(name, [...(unit.get(name) ?? []), value]);
  }
  return unit;
}

/** Protections that the unit must keep. */
const HARDENING = {
  DynamicUser: 'yes',
  NoNewPrivileges: 'yes',
  ProtectSystem: 'strict',
  ProtectHome: 'yes',
  CapabilityBoundingSet: '',
  UMask: '0077',
  RestrictAddressFamilies: 'AF_INET AF_INET6 AF_UNIX AF_NETLINK',
};

/**
 * @param {Unit} unit
 * @returns {CacheSettings}
 */
export function settingsOfUnit(unit) {
  const pairs = (unit.get('Service.Environment') ?? []).map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return new CacheSettings(one(unit, 'ExecStart').split(' '), Object.fromEntries(pairs));
}

/**
 * @param {Unit} unit
 * @returns {string[]} problems
 */
export function unitProblems(unit) {
  const settings = settingsOfUnit(unit);
  const problems = [...settings.problems];
  for (const [key, wanted] of Object.entries(HARDENING))
    if (!unit.has(`Service.${key}`) || one(unit, key) !== wanted)
      problems.push(`${key} is ${one(unit, key) || 'not set'}, expected ${wanted || 'the empty list'}`);
  if (unit.has('Service.MemoryDenyWriteExecute')) problems.push('MemoryDenyWriteExecute stops V8');
  if (!one(unit, 'ExecStart').startsWith('bloomery cache '))
    problems.push('ExecStart does not start bloomery cache');
  if (one(unit, 'ExecReload') !== 'kill -HUP $MAINPID') problems.push('ExecReload does not send SIGHUP');
  if (one(unit, 'KillSignal') !== 'SIGTERM' || one(unit, 'KillMode') !== 'mixed')
    problems.push('a stop does not send SIGTERM to the primary alone');
  const stopMs = 1000 * Number(/^(\d+)s$/.exec(one(unit, 'TimeoutStopSec'))?.[1]);
  if (!(stopMs > settings.drainMs()))
    problems.push(`TimeoutStopSec is ${stopMs} ms, expected more than a drain, ${settings.drainMs()} ms`);
  const gibibytes = Number(/^(\d+)G$/.exec(one(unit, 'MemoryMax'))?.[1]);
  if (!(gibibytes * 2 ** 30 >= settings.leastMemoryBytes()))
    problems.push(`MemoryMax is ${gibibytes} GiB, expected ${settings.leastMemoryBytes()} bytes or more`);
  const [credential] = one(unit, 'LoadCredential').split(':');
  if (settings.all('peerSecret')[0] !== `%d/${credential}`)
    problems.push('the secret of the fleet is not the credential of the unit');
  if (!settings.all('disk')[0]?.startsWith(`%S/${one(unit, 'StateDirectory')}/`))
    problems.push('the disk store is not below StateDirectory');
  return problems;
}

/**
 * @param {Unit} unit
 * @param {string} key
 */
function one(unit, key) {
  return unit.get(`Service.${key}`)?.at(-1) ?? '';
}
