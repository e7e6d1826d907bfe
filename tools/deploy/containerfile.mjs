/**
 * Reads a Containerfile, and checks the rules that we hold it to. No image can be pulled where the
 * tests run, so they do not build it; tools/image-check.mjs does, on a base of its own. A linter
 * (hadolint) would be one more program to install, and would not know the settings of the cache.
 */

import { CacheSettings } from './cache-settings.mjs';

/** @typedef {{ name: string, text: string }} Instruction */

/**
 * @param {string} file
 * @returns {Instruction[]}
 */
export function parseContainerfile(file) {
  /** @type {Instruction[]} */
  const instructions = [];
  for (const line of file.replace(/\\\n\s*/g, ' ').split('\n')) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const [, name, text] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === undefined)
      throw new TypeError(`Cannot read a Containerfile: expected an instruction, got ${line}`);
    instructions.push({ name, text });
  }
  return instructions;
}

/**
 * The settings of the last stage: its environment, and the flags of its entry point.
 * @param {Instruction[]} instructions
 */
export function settingsOfImage(instructions) {
  const stage = lastStage(instructions);
  const pairs = stage.filter(({ name }) => name === 'ENV').flatMap(({ text }) => text.trim().split(/\s+/));
  const environment = Object.fromEntries(pairs.map((pair) => pair.split('=')));
  return new CacheSettings(entryPoint(stage), environment);
}

/**
 * @param {Instruction[]} instructions
 * @returns {string[]} problems
 */
export function containerfileProblems(instructions) {
  const settings = settingsOfImage(instructions);
  const problems = [...settings.problems, ...baseProblems(instructions), ...layerProblems(instructions)];
  const stage = lastStage(instructions);
  const user = last(stage, 'USER');
  if (!/^[1-9]\d*:[1-9]\d*$/.test(user))
    problems.push(`USER is ${user || 'not set'}, expected two numbers that are not root`);
  const ports = last(stage, 'EXPOSE').split(' ').map(Number);
  if (ports.length !== 2 || ports[0] !== settings.port('listen') || ports[1] !== PEER_PORT)
    problems.push(`EXPOSE is ${ports.join(' ')}, expected ${settings.port('listen')} ${PEER_PORT}`);
  const probe = `http://127.0.0.1:${settings.port('listen')}/.bloomery/ready`;
  if (!last(stage, 'HEALTHCHECK').includes(`'${probe}'`)) problems.push(`HEALTHCHECK does not ask ${probe}`);
  if (!settings.all('disk')[0]?.startsWith(`${last(stage, 'VOLUME') || '?'}/`))
    problems.push('the disk store is not below VOLUME');
  if (last(stage, 'STOPSIGNAL') !== 'SIGTERM') problems.push('STOPSIGNAL is not SIGTERM');
  if (entryPoint(stage).slice(0, 2).join(' ') !== 'bloomery cache')
    problems.push('ENTRYPOINT is not the list of bloomery cache, so a shell would get its signals');
  return problems;
}

/** The port for neighbours by convention (`--peer-listen` has no default). */
const PEER_PORT = 3129;

/** @param {Instruction[]} instructions */
function baseProblems(instructions) {
  const defaults = new Map(
    instructions
      .filter(({ name }) => name === 'ARG')
      .map(({ text }) => /** @type {[string, string]} */ (text.split('='))),
  );
  return instructions.flatMap(({ name, text }) => {
    if (name !== 'FROM') return [];
    const image = text.split(' ')[0].replace(/\$\{(\w+)\}/, (_, key) => defaults.get(key) ?? '');
    const [, tag] = /[^/]:([\w.-]+)(?:@sha256:[0-9a-f]{64})?$/.exec(image) ?? [];
    return tag === undefined || tag === 'latest' ? [`the image ${image} has no tag of a version`] : [];
  });
}

/**
 * Files that come from elsewhere, and secrets, which stay in a layer although a later layer removes
 * them.
 * @param {Instruction[]} instructions
 */
function layerProblems(instructions) {
  return instructions.flatMap(({ name, text }) => {
    if (name === 'ADD') return [`ADD ${text}: expected COPY, which takes no URL and unpacks nothing`];
    if (name === 'RUN' && /\b(?:curl|wget)\b/.test(text)) return [`RUN ${text}: fetches from the network`];
    if (/^(?:ARG|ENV|COPY)$/.test(name) && /secret|token|password|npmrc/i.test(text))
      return [`${name} ${text}: would keep a secret in a layer`];
    if (name === 'COPY' && !text.startsWith('--from=') && !text.startsWith('bloomery-*.tgz '))
      return [`COPY ${text}: expected the packed package alone`];
    return [];
  });
}

/** @param {Instruction[]} instructions */
function lastStage(instructions) {
  return instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
}

/**
 * @param {Instruction[]} stage
 * @returns {string[]}
 */
function entryPoint(stage) {
  const text = last(stage, 'ENTRYPOINT');
  return text.startsWith('[') ? JSON.parse(text) : [];
}

/**
 * @param {Instruction[]} stage
 * @param {string} wanted
 */
function last(stage, wanted) {
  return stage.findLast(({ name }) => name === wanted)?.text ?? '';
}
