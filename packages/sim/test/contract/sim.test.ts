import type { ContractNet } from '@bloomery/testkit/transport/contract-net';
import { transportContract } from '@bloomery/testkit/transport/transport-contract';
import { SimNetwork, Simulation } from '../../src/index.ts';

const STEP_MS = 5;
const LONGEST_MS = 120_000;

transportContract('sim', async (): Promise<ContractNet> => {
  const simulation = new Simulation({ seed: 1 });
  const network = new SimNetwork(simulation);
  network.setConditions({ delayMs: 1, jitterMs: 1 });
  const address = (name: string) => `sim:${name}`;
  const others = (name: string) => ['a', 'b', 'c'].filter((other) => other !== name);
  const advanceUntil = async (what: string, condition: () => boolean) => {
    const endMs = simulation.elapsedMs + LONGEST_MS;
    for (; !condition(); await simulation.run({ untilMs: simulation.elapsedMs + STEP_MS }))
      if (simulation.elapsedMs > endMs) throw new Error(`Cannot wait any longer: expected that ${what}`);
  };
  return {
    address,
    start: async (name, peers, id = name) =>
      network.join({ id, address: address(name), peers: peers.map(address) }),
    silence: (name) => {
      for (const other of others(name)) network.partition(address(name), address(other));
    },
    unsilence: (name) => {
      for (const other of others(name)) network.heal(address(name), address(other));
    },
    damageNext: (name) => {
      for (const other of others(name)) network.setConditions({ damage: 1 }, address(name), address(other));
      simulation.after(STEP_MS, () => {
        for (const other of others(name)) network.setConditions({}, address(name), address(other));
      });
    },
    until: advanceUntil,
    during: async (promise) => {
      let isOver = false;
      const done = () => (isOver = true);
      promise.then(done, done);
      await advanceUntil('the promise settles', () => isOver);
      return promise;
    },
    end: async () => {},
  };
});
