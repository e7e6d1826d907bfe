/** The entry of the page: sets the registry up, reads the address, draws the frame. */

import * as signals from '@preact/signals';
import * as preact from 'preact';
import * as hooks from 'preact/hooks';
import * as runtime from 'preact/jsx-runtime';
import { Frame } from './frame.tsx';
import { loadFile, loadView } from './load-file.ts';
import { firstRoute } from './route.ts';
import { scriptAddress } from './script-policy.ts';

globalThis.bloomeryConsole = {
  views: new Map(),
  parts: new Map(),
  modules: {
    preact,
    'preact/hooks': hooks,
    'preact/jsx-runtime': runtime,
    '@preact/signals': signals,
  },
  loadFile,
  scriptAddress,
};

// The file of the view comes while the frame is drawn. A failure is reported by the frame.
loadView(firstRoute(location).view).catch(() => {});
const place = document.querySelector('#console')!;
place.replaceChildren();
preact.render(<Frame />, place);
