/**
 * The parts of Chromium's extension API that are used here. We refused the package of its types:
 * it declares a thousand names as globals for all files, and these are twenty.
 */

interface ChromeEvent<A extends unknown[]> {
  addListener(listener: (...args: A) => unknown): void;
}

interface Tab {
  readonly id?: number;
  readonly url?: string;
  readonly active?: boolean;
}

interface Navigation {
  readonly tabId: number;
  readonly frameId: number;
  readonly url: string;
}

interface ChromeApi {
  readonly action: {
    setBadgeText(details: { text: string; tabId: number }): Promise<void>;
    setBadgeBackgroundColor(details: { color: string }): Promise<void>;
    setBadgeTextColor?(details: { color: string }): Promise<void>;
    setTitle(details: { title: string; tabId: number }): Promise<void>;
  };
  readonly alarms: {
    create(name: string, info: { when: number }): Promise<void>;
    readonly onAlarm: ChromeEvent<[{ readonly name: string }]>;
  };
  readonly runtime: {
    readonly onInstalled: ChromeEvent<[]>;
    readonly onStartup: ChromeEvent<[]>;
    readonly onMessage: ChromeEvent<
      [message: unknown, sender: { readonly id?: string }, reply: (answer: unknown) => void]
    >;
    readonly id: string;
    sendMessage(message: unknown): Promise<unknown>;
  };
  readonly sidePanel?: {
    setPanelBehavior(behavior: { openPanelOnActionClick: boolean }): Promise<void>;
  };
  readonly tabs: {
    query(filter: { active?: boolean; currentWindow?: boolean }): Promise<Tab[]>;
    get(id: number): Promise<Tab>;
    readonly onActivated: ChromeEvent<[{ readonly tabId: number }]>;
    readonly onUpdated: ChromeEvent<
      [id: number, change: { readonly url?: string; readonly status?: string }, tab: Tab]
    >;
  };
  readonly webNavigation: {
    readonly onCommitted: ChromeEvent<[Navigation]>;
    readonly onHistoryStateUpdated: ChromeEvent<[Navigation]>;
    readonly onReferenceFragmentUpdated: ChromeEvent<[Navigation]>;
  };
}

export const chrome = (globalThis as unknown as { chrome: ChromeApi }).chrome;
