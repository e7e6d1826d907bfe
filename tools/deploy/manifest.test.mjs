// deploy/kubernetes.yaml. There is no cluster where the tests run, so nothing is applied: the flags
// are given to the cache's own loadConfig, and the rest is compared with them.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../packages/cache/src/node/config/node-config.ts';
import { parseContainerfile, settingsOfImage } from './containerfile.mjs';
import { containerOf, manifestProblems, parseManifest, settingsOfContainer } from './manifest.mjs';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const text = readFileSync(join(deploy, 'kubernetes.yaml'), 'utf8');

test('the manifest fits the settings of the cache', () => {
  expect(manifestProblems(parseManifest(text))).toEqual([]);
});

test('the cache accepts the flags of the manifest, without a warning', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'bloomery-manifest-'));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  const peerSecret = join(scratch, 'fleet.secret');
  writeFileSync(peerSecret, 'a secret of at least sixteen bytes\n', { mode: 0o440 });
  const settings = settingsOfContainer(containerOf(parseManifest(text)));
  const flags = { ...settings.forLoadConfig(), disk: scratch, peerSecret };
  const config = loadConfig({ environment: {}, flags });
  expect(config.warnings).toEqual([]);
  expect(config.peers?.dns).toMatchObject([{ port: 3129, isService: false }]);
});

test('the manifest keeps its responses where the image does', () => {
  const image = settingsOfImage(parseContainerfile(readFileSync(join(deploy, 'Containerfile'), 'utf8')));
  const settings = settingsOfContainer(containerOf(parseManifest(text)));
  for (const key of ['listen', 'disk']) expect(settings.all(key)).toEqual(image.all(key));
});

test.each([
  ['--memory=', '--memry=', '--memry is no flag of the cache'],
  ['BLOOMERY_CACHE_NAME', 'BLOOMERY_CACHE_NODE', 'BLOOMERY_CACHE_NODE is no setting of the cache'],
  ['--disk-size=8GB', '--disk-size', '--disk-size has no value, expected --disk-size=VALUE'],
  [
    'port: 3128, targetPort',
    'port: 80, targetPort',
    'bloomery-cache leads to another port than 3128, at which the cache listens',
  ],
  [
    'containerPort: 3129',
    'containerPort: 3130',
    'bloomery-cache-peers leads to another port than 3129, at which the cache listens',
  ],
  [
    '--peers-dns=bloomery-cache-peers.',
    '--peers-dns=bloomery-cache.',
    '--peers-dns is not bloomery-cache-peers.bloomery.svc.cluster.local:3129',
  ],
  [
    'publishNotReadyAddresses: true',
    'publishNotReadyAddresses: false',
    'bloomery-cache-peers drops the summaries of nodes that are not ready for a moment',
  ],
  ['clusterIP: None', 'type: ClusterIP', 'expected one headless service'],
  ['labels: { app: bloomery-cache', 'labels: { app: cache', 'a selector differs from the labels of the pods'],
  ['namespace: bloomery', 'namespace: other', 'the resources are in several namespaces'],
  [
    '/.bloomery/ready, port: http',
    '/.bloomery/ready, port: peers',
    'readinessProbe asks /.bloomery/ready at port 3129, expected /.bloomery/ready at 3128',
  ],
  [
    'path: /.bloomery/health',
    'path: /health',
    'livenessProbe asks /health at port 3128, expected /.bloomery/health at 3128',
  ],
  ['Seconds: 50', 'Seconds: 40', 'the grace period is 40000 ms, expected more than 40000 ms'],
  [
    'failureThreshold: 6',
    'failureThreshold: 4',
    'livenessProbe fails while a node drains, whose health is 503 then',
  ],
  [
    'shutdown-delay=10s',
    'shutdown-delay=5s',
    '--shutdown-delay is over before readinessProbe has noticed it',
  ],
  [
    'limits: { memory: 1Gi',
    'limits: { memory: 700Mi',
    'the limit of memory is 734003200 bytes, expected 768000000 or more',
  ],
  ['sizeLimit: 10Gi', 'sizeLimit: 7Gi', '--disk is on no volume that is larger than --disk-size'],
  ['secret: { secretName: bloomery-fleet', 'emptyDir: { a: b', '--peer-secret is on no volume of a secret'],
  ['defaultMode: 288', 'defaultMode: 292', 'every user of the container can read the secret'],
  ['runAsNonRoot: true', 'runAsNonRoot: false', 'runAsNonRoot is not set'],
  ['automountServiceAccountToken: false\n', '\n', 'the pod gets a token that it does not need'],
  ['allowPrivilegeEscalation: false', 'a: false', 'privileges can be escalated'],
  ['readOnlyRootFilesystem: true', 'a: true', 'the root file system is writable'],
  ['drop: [ALL]', 'drop: []', 'capabilities are kept'],
  ['cache:0.1.0', 'cache:latest', 'the image registry.example/bloomery-cache:latest has no tag of a version'],
  [
    '          env:\n',
    '          env:\n            - { name: FLEET_SECRET, value: x }\n',
    'a secret is in the environment, expected a file',
  ],
])('a manifest with a fault in %j is refused', (found, fault, problem) => {
  expect(text).toContain(found);
  expect(manifestProblems(parseManifest(text.replace(found, fault)))).toContain(problem);
});

test('parseManifest refuses text that is no YAML', () => {
  expect(() => parseManifest('a: [1')).toThrow(/^Cannot read a manifest: expected YAML, got /);
});
