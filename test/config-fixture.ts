import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Change } from '../storage/config/config-store.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { systemClock } from '../src/clock.ts'
import { Editing } from '../src/config/editing.ts'
import type { Draft } from '../src/config/draft.ts'
import type { ErrorCode } from '../src/errors.ts'
import { ApiError } from '../src/errors.ts'
import { silentLog } from '../src/log.ts'
import type { User } from '../src/model/access.ts'
import type { L4Backend, L4Frontend } from '../src/model/layer4.ts'
import type { L7Backend, L7Frontend } from '../src/model/layer7.ts'
import type { RealServer } from '../src/model/real-server.ts'

/** A folder that goes away with the test. */
export function temporaryFolder(test: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `fulcrum-${name}-`))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function openStore(test: Test): LmdbConfigStore {
  const folder = temporaryFolder(test, 'config')
  const store = new LmdbConfigStore(folder, randomUUID)
  test.teardown(() => store.close())
  return store
}

/** For those who may. */
export const ANYTHING = (): boolean => true

/** A real store with the verbs that tests need to fill it. */
export function configFixture(test: Test) {
  const store = openStore(test)
  const editing = new Editing(store)
  const edit = (work: (draft: Draft) => unknown, ifMatch?: string) =>
    editing.edit({ actor: 'tester@localhost', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }, ifMatch, work)
  const promote = (changes: readonly Change[] = store.changes()) => {
    const revision = store.revision + 1
    return store.promote(changes, {
      applyId: randomUUID(),
      revision,
      by: 'tester',
      at: '2026-01-02T03:04:05.000Z',
      comment: '',
    })
  }
  return { store, editing, edit, promote }
}

/** What most tests of an apply engine do not care about. */
export const ENGINE_DEFAULTS = {
  own: [],
  rules: [],
  nodeId: 'node-1',
  clock: systemClock,
  log: silentLog,
  wouldCut: async () => undefined,
  beforeApply: async () => undefined,
  tell: () => undefined,
  onPromoted: () => undefined,
}

export async function refusalOf(work: Promise<unknown> | (() => unknown)): Promise<ApiError> {
  try {
    await (typeof work === 'function' ? work() : work)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

export async function refuses(
  test: Test,
  code: ErrorCode,
  work: Promise<unknown> | (() => unknown),
): Promise<ApiError> {
  const error = await refusalOf(work)
  test.equal(error.code, code, error.message)
  return error
}

export const realServer = (id: string, more: Partial<RealServer> = {}): RealServer => ({
  id,
  name: id,
  ip: '127.0.0.1',
  port: 8000,
  weight: 100,
  state: 'online',
  ...more,
})

export const backend = (id: string, ripIds: readonly string[], more: Partial<L7Backend> = {}): L7Backend => ({
  id,
  name: id,
  mode: 'http',
  balance: 'roundrobin',
  persistence: { type: 'none' },
  reals: ripIds.map((ripId) => ({ ripId })),
  healthCheck: { type: 'none' },
  fallback: null,
  timeoutConnect: 5,
  timeoutServer: 30,
  enabled: true,
  ...more,
})

export const frontend = (id: string, backendId: string | null, more: Partial<L7Frontend> = {}): L7Frontend => ({
  id,
  name: id,
  mode: 'http',
  ip: '127.0.0.1',
  ports: '8080',
  defaultBackendId: backendId,
  maxConn: null,
  timeoutClient: 30,
  forwardFor: false,
  enabled: true,
  ...more,
})

export const l4Backend = (id: string, ripIds: readonly string[], more: Partial<L4Backend> = {}): L4Backend => ({
  id,
  name: id,
  scheduler: 'wrr',
  persistTimeout: 0,
  persistMask: null,
  reals: ripIds.map((ripId) => ({ ripId })),
  healthCheck: { type: 'none' },
  fallback: null,
  ...more,
})

export const l4Frontend = (id: string, backendId: string, more: Partial<L4Frontend> = {}): L4Frontend => ({
  id,
  name: id,
  ip: '192.0.2.10',
  ports: '80',
  protocol: 'tcp',
  forwarding: 'masq',
  backendId,
  enabled: true,
  ...more,
})

export const user = (id: string, more: Partial<User> = {}): User => ({
  id,
  email: `${id}@example.test`,
  firstName: 'A',
  lastName: 'B',
  disabled: false,
  passwordHash: '$argon2id$secret',
  groups: [],
  roles: [],
  ...more,
})
