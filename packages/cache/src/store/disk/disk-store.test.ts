import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeContract } from '../../../test/store/store-contract.ts';
import { DiskStore } from './disk-store.ts';

storeContract(
  'DiskStore',
  async ({ capacityBytes, variantsPerKey }) => {
    const folder = await mkdtemp(join(tmpdir(), 'bloomery-disk-'));
    const store = await DiskStore.open({ folder, capacityBytes, variantsPerKey });
    return {
      store,
      openReaders: () => store.openBodies,
      dispose: () => rm(folder, { recursive: true, force: true }),
    };
  },
  { commands: 3000 },
);
