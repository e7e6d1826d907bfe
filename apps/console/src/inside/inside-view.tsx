/** Look inside: filters as pictures, from fourteen bits to files of a gigabyte. */

import { registerView } from '../shell/view-registry.ts';
import { BasketSection } from './basket-section.tsx';
import { FileSection } from './file-section.tsx';
import { WorkbenchSection } from './workbench-section.tsx';

function InsideView() {
  return (
    <div class="inside">
      <BasketSection />
      <FileSection />
      <WorkbenchSection />
    </div>
  );
}

registerView('inside', InsideView);
