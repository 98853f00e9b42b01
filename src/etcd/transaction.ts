import { bytesOf, type Fields, headerRevision, idOf, isSet, listOf, numberOf, part, UnreadableError } from './fields.ts'
import { base64, type Bytes, type Span, spanFields } from './span.ts'

/** One key at a revision. */
export interface KeyValue {
  readonly key: Uint8Array
  readonly value: Uint8Array
  /** The revision that created the key. */
  readonly createRevision: number
  /** The revision that changed it last. */
  readonly modRevision: number
  /** 1 when the key is created, one more with each change; 0 for a deleted key. */
  readonly version: number
  /** '0' without a lease. */
  readonly lease: string
}

export interface RangeOptions {
  /** 0 or absent: all. */
  readonly limit?: number
  /** The revision to read; the current one when absent. */
  readonly revision?: number
  /** Reads the state of the member that answers, which may be old; works without a leader too. */
  readonly isSerializable?: boolean
  readonly sort?: { readonly by: 'key' | 'version' | 'create' | 'mod' | 'value'; readonly isDescending?: boolean }
  /** Leaves the values out. */
  readonly keysOnly?: boolean
  /** Returns only the number of keys. */
  readonly countOnly?: boolean
}

export interface RangeAnswer {
  /** Revision of the store at the time of the read. */
  readonly revision: number
  readonly kvs: readonly KeyValue[]
  /** Whether the limit left some keys out. */
  readonly hasMore: boolean
  /** Number of all keys in the span, whatever the limit. */
  readonly count: number
}

/** A condition on a key. A key that does not exist has 0 for its revisions and its version. */
export type Comparison = { readonly key: Bytes; readonly is: '=' | '!=' | '<' | '>' } & (
  | { readonly of: 'modRevision' | 'createRevision' | 'version'; readonly than: number }
  | { readonly of: 'value'; readonly than: Bytes }
)

export type Operation =
  | { readonly put: Bytes; readonly value: Bytes; readonly lease?: string }
  | { readonly get: Span; readonly options?: Omit<RangeOptions, 'isSerializable'> }
  | { readonly delete: Span }

export interface Transaction {
  /** All of these must hold; without any, the transaction succeeds. */
  readonly compare?: readonly Comparison[]
  readonly success?: readonly Operation[]
  readonly failure?: readonly Operation[]
}

/** The answer to one operation, in the order of the operations. */
export type OperationAnswer =
  | { readonly did: 'put' }
  | { readonly did: 'get'; readonly range: RangeAnswer }
  | { readonly did: 'delete'; readonly deleted: number }

export interface TransactionAnswer {
  /** Whether all comparisons held, which decides the executed operations. */
  readonly succeeded: boolean
  readonly revision: number
  readonly answers: readonly OperationAnswer[]
}

const SORT_BY = { key: 'KEY', version: 'VERSION', create: 'CREATE', mod: 'MOD', value: 'VALUE' } as const
const RESULT = { '=': 'EQUAL', '!=': 'NOT_EQUAL', '<': 'LESS', '>': 'GREATER' } as const
const TARGET = { modRevision: 'MOD', createRevision: 'CREATE', version: 'VERSION', value: 'VALUE' } as const
const COMPARED = { modRevision: 'mod_revision', createRevision: 'create_revision', version: 'version' } as const

export function rangeFields(span: Span, options: RangeOptions = {}): Fields {
  const { limit = 0, revision = 0, isSerializable = false, sort, keysOnly = false, countOnly = false } = options
  return {
    ...spanFields(span),
    ...(limit === 0 ? {} : { limit }),
    ...(revision === 0 ? {} : { revision }),
    ...(isSerializable ? { serializable: true } : {}),
    ...(sort === undefined
      ? {}
      : { sort_target: SORT_BY[sort.by], sort_order: sort.isDescending === true ? 'DESCEND' : 'ASCEND' }),
    ...(keysOnly ? { keys_only: true } : {}),
    ...(countOnly ? { count_only: true } : {}),
  }
}

export function putFields(key: Bytes, value: Bytes, lease?: string): Fields {
  return { key: base64(key), value: base64(value), ...(lease === undefined ? {} : { lease }) }
}

export function transactionFields({ compare = [], success = [], failure = [] }: Transaction): Fields {
  return {
    compare: compare.map(comparisonFields),
    success: success.map(operationFields),
    failure: failure.map(operationFields),
  }
}

function comparisonFields(comparison: Comparison): Fields {
  const common = { key: base64(comparison.key), target: TARGET[comparison.of], result: RESULT[comparison.is] }
  return comparison.of === 'value'
    ? { ...common, value: base64(comparison.than) }
    : { ...common, [COMPARED[comparison.of]]: comparison.than }
}

function operationFields(operation: Operation): Fields {
  if ('put' in operation) return { request_put: putFields(operation.put, operation.value, operation.lease) }
  if ('get' in operation) return { request_range: rangeFields(operation.get, operation.options) }
  return { request_delete_range: spanFields(operation.delete) }
}

export const keyValueOf = (fields: Fields): KeyValue => ({
  key: bytesOf(fields, 'key'),
  value: bytesOf(fields, 'value'),
  createRevision: numberOf(fields, 'create_revision'),
  modRevision: numberOf(fields, 'mod_revision'),
  version: numberOf(fields, 'version'),
  lease: idOf(fields, 'lease'),
})

export const rangeAnswer = (fields: Fields): RangeAnswer => ({
  revision: headerRevision(fields),
  kvs: listOf(fields, 'kvs').map(keyValueOf),
  hasMore: isSet(fields, 'more'),
  count: numberOf(fields, 'count'),
})

export const transactionAnswer = (fields: Fields): TransactionAnswer => ({
  succeeded: isSet(fields, 'succeeded'),
  revision: headerRevision(fields),
  answers: listOf(fields, 'responses').map(operationAnswer),
})

function operationAnswer(fields: Fields): OperationAnswer {
  if ('response_put' in fields) return { did: 'put' }
  if ('response_range' in fields) return { did: 'get', range: rangeAnswer(part(fields, 'response_range')) }
  if ('response_delete_range' in fields) {
    return { did: 'delete', deleted: numberOf(part(fields, 'response_delete_range'), 'deleted') }
  }
  throw new UnreadableError('its answer contains an unknown operation')
}
