/**
 * Checks a Kubernetes manifest of the cache: the flags are settings of the cache, and ports, paths,
 * labels, times, sizes and the two services agree with them. It does not know the schemas of
 * Kubernetes: a field that is misspelt, and that no rule here asks for, passes.
 */

import { parseAllDocuments } from 'yaml';
import { CacheSettings } from './cache-settings.mjs';

/** @typedef {Record<string, any>} Resource a part of a manifest; its fields are those of Kubernetes */

/**
 * @param {string} text
 * @returns {Resource[]}
 */
export function parseManifest(text) {
  return parseAllDocuments(text).map((document) => {
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined)
      throw new TypeError(`Cannot read a manifest: expected YAML, got ${error.message}`);
    return document.toJS();
  });
}

/** @param {Resource} container */
export function settingsOfContainer({ args = [], env = [] }) {
  const environment = env.map((/** @type {Resource} */ { name, value }) => [name, value ?? 'from-the-pod']);
  return new CacheSettings(args, Object.fromEntries(environment));
}

/**
 * @param {Resource[]} resources
 * @returns {Resource} the container of the cache
 */
export function containerOf(resources) {
  return daemonSetOf(resources).spec.template.spec.containers[0];
}

/**
 * @param {Resource[]} resources
 * @returns {string[]} problems
 */
export function manifestProblems(resources) {
  const pod = daemonSetOf(resources).spec.template.spec;
  const container = containerOf(resources);
  const settings = settingsOfContainer(container);
  return [
    ...settings.problems,
    ...serviceProblems(resources, settings),
    ...probeProblems(container, settings),
    ...timeProblems(pod, container, settings),
    ...sizeProblems(pod, container, settings),
    ...rightsProblems(pod, container),
  ];
}

/**
 * @param {Resource[]} resources
 * @param {CacheSettings} settings
 */
function serviceProblems(resources, settings) {
  const problems = [];
  const daemonSet = daemonSetOf(resources);
  const { labels } = daemonSet.spec.template.metadata;
  const services = resources.filter(({ kind }) => kind === 'Service');
  const named = new Map(
    containerOf(resources).ports.map((/** @type {Resource} */ port) => [port.name, port]),
  );
  const selectors = [daemonSet.spec.selector.matchLabels, ...services.map(({ spec }) => spec.selector)];
  if (selectors.some((selector) => JSON.stringify(selector) !== JSON.stringify(labels)))
    problems.push('a selector differs from the labels of the pods');
  for (const { metadata, spec } of services) {
    const headless = spec.clusterIP === 'None';
    const [{ port, targetPort }] = spec.ports;
    const wanted = settings.port(headless ? 'peerListen' : 'listen');
    if (port !== wanted || named.get(targetPort)?.containerPort !== wanted)
      problems.push(`${metadata.name} leads to another port than ${wanted}, at which the cache listens`);
    if (!headless) continue;
    const name = `${metadata.name}.${metadata.namespace}.svc.cluster.local:${wanted}`;
    if (settings.all('peersDns')[0] !== name) problems.push(`--peers-dns is not ${name}`);
    if (spec.publishNotReadyAddresses !== true)
      problems.push(`${metadata.name} drops the summaries of nodes that are not ready for a moment`);
  }
  if (services.filter(({ spec }) => spec.clusterIP === 'None').length !== 1)
    problems.push('expected one headless service');
  const spaces = resources.map(({ metadata }) => metadata.namespace);
  if (new Set(spaces).size !== 1) problems.push('the resources are in several namespaces');
  return problems;
}

/**
 * @param {Resource} container
 * @param {CacheSettings} settings
 */
function probeProblems({ readinessProbe, livenessProbe, ports }, settings) {
  const probes = { readinessProbe, livenessProbe };
  const paths = { readinessProbe: '/.bloomery/ready', livenessProbe: '/.bloomery/health' };
  return Object.entries(probes).flatMap(([name, probe]) => {
    const { path, port } = probe?.httpGet ?? {};
    const found = ports.find((/** @type {Resource} */ one) => one.name === port)?.containerPort;
    const wanted = paths[/** @type {keyof typeof paths} */ (name)];
    return path === wanted && found === settings.port('listen')
      ? []
      : [`${name} asks ${path} at port ${found}, expected ${wanted} at ${settings.port('listen')}`];
  });
}

/**
 * @param {Resource} pod
 * @param {Resource} container
 * @param {CacheSettings} settings
 */
function timeProblems(pod, { readinessProbe, livenessProbe }, settings) {
  const problems = [];
  const drain = settings.drainMs();
  const grace = 1000 * pod.terminationGracePeriodSeconds;
  if (!(grace > drain)) problems.push(`the grace period is ${grace} ms, expected more than ${drain} ms`);
  if (!(failsAfterMs(livenessProbe) > drain))
    problems.push('livenessProbe fails while a node drains, whose health is 503 then');
  if (!(failsAfterMs(readinessProbe) < settings.durationMs('shutdownDelay')))
    problems.push('--shutdown-delay is over before readinessProbe has noticed it');
  return problems;
}

/** @param {Resource} probe */
function failsAfterMs({ periodSeconds = 10, failureThreshold = 3 }) {
  return 1000 * periodSeconds * failureThreshold;
}

/**
 * @param {Resource} pod
 * @param {Resource} container
 * @param {CacheSettings} settings
 */
function sizeProblems(pod, { resources, volumeMounts }, settings) {
  const problems = [];
  const memory = quantity(resources?.limits?.memory);
  if (!(memory >= settings.leastMemoryBytes()))
    problems.push(`the limit of memory is ${memory} bytes, expected ${settings.leastMemoryBytes()} or more`);
  /** @param {string} key */
  const volumeOf = (key) => {
    const file = settings.all(key)[0] ?? '';
    const mount = volumeMounts.find((/** @type {Resource} */ one) => file.startsWith(`${one.mountPath}/`));
    return pod.volumes.find((/** @type {Resource} */ one) => one.name === mount?.name);
  };
  if (!(quantity(volumeOf('disk')?.emptyDir?.sizeLimit) > settings.bytes('diskSize')))
    problems.push('--disk is on no volume that is larger than --disk-size');
  if (volumeOf('peerSecret')?.secret === undefined)
    problems.push('--peer-secret is on no volume of a secret');
  else if ((volumeOf('peerSecret').secret.defaultMode & 0o007) !== 0)
    problems.push('every user of the container can read the secret');
  return problems;
}

/**
 * @param {Resource} pod
 * @param {Resource} container
 */
function rightsProblems(pod, { image, securityContext, env }) {
  const problems = [];
  if (pod.securityContext?.runAsNonRoot !== true) problems.push('runAsNonRoot is not set');
  if (pod.automountServiceAccountToken !== false) problems.push('the pod gets a token that it does not need');
  if (securityContext?.allowPrivilegeEscalation !== false) problems.push('privileges can be escalated');
  if (securityContext?.readOnlyRootFilesystem !== true) problems.push('the root file system is writable');
  if (securityContext?.capabilities?.drop?.[0] !== 'ALL') problems.push('capabilities are kept');
  if (!/:[\d.]+$/.test(image)) problems.push(`the image ${image} has no tag of a version`);
  if (env.some((/** @type {Resource} */ { name }) => /SECRET|TOKEN|PASSWORD/.test(name)))
    problems.push('a secret is in the environment, expected a file');
  return problems;
}

/**
 * Bytes of a quantity such as `10Gi`, or NaN.
 * @param {string | undefined} text
 */
function quantity(text) {
  const [, count, unit] = /^(\d+)([MG])i$/.exec(text ?? '') ?? [];
  return Number(count) * (unit === 'G' ? 2 ** 30 : 2 ** 20);
}

/** @param {Resource[]} resources */
function daemonSetOf(resources) {
  const found = resources.find(({ kind }) => kind === 'DaemonSet');
  if (found === undefined) throw new TypeError('Cannot check a manifest: expected a DaemonSet, got none');
  return found;
}
