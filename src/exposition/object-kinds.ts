import { gauge } from './family.ts'

/** The kinds of objects of both layers, in the order of a document. */
export const OBJECT_KINDS = ['frontend', 'backend', 'server'] as const
export type ObjectKind = (typeof OBJECT_KINDS)[number]
export type ByKind<T> = Readonly<Record<ObjectKind, T>>

export const byKind = <T>(make: (kind: ObjectKind) => T): ByKind<T> => ({
  frontend: make('frontend'),
  backend: make('backend'),
  server: make('server'),
})

export const OBJECT_LABELS: ByKind<readonly string[]> = {
  frontend: ['frontend_id', 'frontend'],
  backend: ['backend_id', 'backend'],
  server: ['backend_id', 'backend', 'server_id', 'server'],
}

/** The numbers that stand for the applied states of a server. */
export const STATES = { halted: 0, drained: 1, online: 2 } as const

export const serverState = (layer: 'layer4' | 'layer7') =>
  gauge(`${layer}_server_state`, 'Chosen state of the server: 2 online, 1 drained, 0 halted.', OBJECT_LABELS.server)
