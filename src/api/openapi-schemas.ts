import type { Endpoint } from './endpoint.ts'
import type { Json } from './openapi-responses.ts'

/**
 * Names of the shapes in the document, from which generators make types. Bodies and answers are named after the
 * endpoint, a shape within them after its `title`, and one without a title that occurs in several places after the
 * first of them. Equal shapes have one name, different shapes never the same: the description of a whole shape is
 * beside its reference.
 */

interface Shape {
  /** Its first occurrence, with its description. */
  readonly node: Json
  readonly title: string | undefined
  /** Number of places where it occurs, within different shapes. */
  places: number
  name: string | undefined
}

/** A body or an answer, with the names for shapes without a title in it. */
interface Root {
  readonly schema: Json
  readonly isRequest: boolean
  /** The lower rank chooses its names first. */
  readonly rank: number
  readonly name: string
  /** Prefix of the names of shapes in it. */
  readonly of: string
  /** Shapes that are named although they occur nowhere else. */
  readonly parts: readonly Part[]
}

interface Part {
  readonly schema: Json
  readonly name: string
  /** The name to use if `name` is that of another shape. */
  readonly otherwise: string
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const pascal = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `l7Backends` becomes L7Backend. */
function singular(name: string): string {
  if (/(ss|us|is|stats)$/i.test(name)) return pascal(name)
  return pascal(name.replace(/ies$/, 'y').replace(/([^y])s$/, '$1'))
}

/** In order of preference: the answer of a read gets the plain name of the resource. */
const RANKS = ['get', 'list', 'show', 'create', 'update']
const rankOf = (verb: string): number => (RANKS.includes(verb) ? RANKS.indexOf(verb) : RANKS.length)
const isReading = (verb: string): boolean => ['get', 'list', 'show'].includes(verb)

function partsOfName({ name }: Endpoint) {
  const [resource = '', verb = ''] = name.split('.', 2)
  return { one: singular(resource), verb }
}

function answerName(endpoint: Endpoint): string {
  const { one, verb } = partsOfName(endpoint)
  if (isReading(verb)) return one
  if (verb === 'create') return `${one}Created`
  return endpoint.method === 'GET' ? `${one}${pascal(verb)}` : `${one}${pascal(verb)}Result`
}

function bodyName(endpoint: Endpoint): string {
  const { one, verb } = partsOfName(endpoint)
  if (verb === 'create') return `${one}Input`
  return verb === 'update' ? `${one}Change` : `${one}${pascal(verb)}Input`
}

/** Returns the schemas of the records in an answer, without the list or union around them. */
function recordsIn(schema: unknown): readonly Json[] {
  if (!isObject(schema)) return []
  if (isNameable(schema)) return [schema]
  const forms = Array.isArray(schema['anyOf']) ? schema['anyOf'] : []
  return [schema['items'], ...forms].flatMap(recordsIn)
}

/** Unwraps a record that a read answers within an object of one field. */
function unwrapped(record: Json): readonly Json[] {
  const fields = isObject(record['properties']) ? Object.values(record['properties']) : []
  const inside = fields.length === 1 && titleOf(record) === undefined ? recordsIn(fields[0]) : []
  return inside.some((one) => titleOf(one) === undefined) ? inside : [record]
}

const isNameable = (node: Json): boolean =>
  titleOf(node) !== undefined ||
  (node['type'] === 'object' && isObject(node['properties']) && Object.keys(node['properties']).length > 0)

const titleOf = ({ title }: Json): string | undefined => (typeof title === 'string' ? title : undefined)

/** Returns the JSON schemas of each body and answer of an operation. */
function rootsOf(endpoint: Endpoint, operation: Json): readonly Root[] {
  const schemaIn = (holder: unknown): Json | undefined => {
    const content = isObject(holder) ? holder['content'] : undefined
    const json = isObject(content) ? content['application/json'] : undefined
    return isObject(json) && isObject(json['schema']) ? json['schema'] : undefined
  }
  const { one, verb } = partsOfName(endpoint)
  const rank = rankOf(verb)
  const roots: Root[] = []
  const body = schemaIn(operation['requestBody'])
  if (body !== undefined) {
    const name = bodyName(endpoint)
    const parts = recordsIn(body).map((schema) => ({ schema, name, otherwise: name }))
    roots.push({ schema: body, isRequest: true, rank, name, of: name, parts })
  }
  const name = answerName(endpoint)
  const otherwise = verb === 'list' ? `${one}Listed` : `${name}Data`
  for (const answer of Object.values(operation['responses'] as Json)) {
    const schema = schemaIn(answer)
    if (schema === undefined) continue
    const properties = isObject(schema['properties']) ? schema['properties'] : {}
    const records = recordsIn(endpoint.whole === undefined ? properties['data'] : schema)
    const parts = (isReading(verb) ? records.flatMap(unwrapped) : records).map((record) => ({
      schema: record,
      name,
      otherwise,
    }))
    roots.push({ schema, isRequest: false, rank, name: `${one}${pascal(verb)}Answer`, of: name, parts })
  }
  return roots
}

/** Finds equal shapes, names them, and replaces them by references. */
export class Shapes {
  readonly #shapes = new Map<string, Shape>()
  /** The comparison key of each node. */
  readonly #keys = new WeakMap<object, string>()
  readonly #numbers = new Map<string, number>()
  readonly #taken = new Map<string, Shape>()
  readonly #replaced = new WeakMap<object, unknown>()

  /** Names the bodies and answers of the operations; `replace` then uses the names. */
  constructor(operations: readonly (readonly [Endpoint, Json])[]) {
    const roots = operations.flatMap(([endpoint, operation]) => rootsOf(endpoint, operation))
    const ranked = roots.toSorted((a, b) => a.rank - b.rank)
    this.#count(roots)
    for (const isRequest of [false, true]) this.#claimTitles(roots.filter((root) => root.isRequest === isRequest))
    for (const { schema, name, otherwise } of ranked.flatMap(({ parts }) => parts)) {
      this.#claim(this.#shapeOf(schema), name, otherwise)
    }
    const met = new Set<string>()
    for (const { schema, name } of ranked) this.#claimPlaces(schema, name, met)
  }

  /** Returns the named shapes, sorted by name. */
  components(): Readonly<Record<string, Json>> {
    const entries = [...this.#taken].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([name, { node }]) => [name, this.#inside(withoutTitle(node)) as Json]))
  }

  /** Returns the JSON with a reference for each named shape. */
  replace(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((one) => this.replace(one))
    if (!isObject(node) || '$ref' in node) return node
    const known = this.#replaced.get(node)
    if (known !== undefined) return known
    const shape = isNameable(node) ? this.#shapes.get(this.#keyOf(node)) : undefined
    const made = shape?.name === undefined ? this.#inside(node) : reference(shape, shape.name, node)
    this.#replaced.set(node, made)
    return made
  }

  #inside(node: Json): unknown {
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, this.replace(value)]))
  }

  #shapeOf(node: Json): Shape {
    const key = this.#keyOf(node)
    let shape = this.#shapes.get(key)
    if (shape === undefined) {
      shape = { node, title: titleOf(node), places: 0, name: undefined }
      this.#shapes.set(key, shape)
    }
    return shape
  }

  /** Returns the comparison key: without the node's own description, with those of its fields. */
  #keyOf(node: Json): string {
    let key = this.#keys.get(node)
    if (key === undefined) {
      const isSchema = isNameable(node)
      const fields = Object.entries(node).filter(([name, value]) => !isBeside(name, value, isSchema))
      const text = fields
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${JSON.stringify(name)}:${this.#textOf(value)}`)
        .join()
      let number = this.#numbers.get(text)
      if (number === undefined) this.#numbers.set(text, (number = this.#numbers.size))
      key = `#${number}`
      this.#keys.set(node, key)
    }
    return key
  }

  #textOf(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((one) => this.#textOf(one)).join()}]`
    if (!isObject(value)) return JSON.stringify(value)
    const own = typeof value['description'] === 'string' ? JSON.stringify(value['description']) : ''
    const usual = isNameable(value) && 'default' in value ? `=${JSON.stringify(value['default'])}` : ''
    return `${this.#keyOf(value)}${own}${usual}`
  }

  /**
   * Counts the places of each shape. Shapes inside equal ones count once, because they are named by the shape around
   * them.
   */
  #count(roots: readonly Root[]): void {
    const met = new Set<string>()
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) for (const one of node) visit(one)
      if (!isObject(node)) return
      if (isNameable(node)) {
        this.#shapeOf(node).places += 1
        const key = this.#keyOf(node)
        if (met.has(key)) return
        met.add(key)
      }
      for (const value of Object.values(node)) visit(value)
    }
    for (const { schema } of roots) visit(schema)
  }

  /**
   * Names shapes by their title; a different shape with the same title gets a longer name, as the form that requests
   * have.
   */
  #claimTitles(roots: readonly Root[]): void {
    const met = new Set<string>()
    const visit = (node: unknown, of: string, suffix: string): void => {
      if (Array.isArray(node)) for (const one of node) visit(one, of, suffix)
      if (!isObject(node)) return
      const title = titleOf(node)
      if (title !== undefined) this.#claim(this.#shapeOf(node), title, `${title}${suffix}`, `${of}${title}`)
      if (isNameable(node)) {
        if (met.has(this.#keyOf(node))) return
        met.add(this.#keyOf(node))
      }
      for (const value of Object.values(node)) visit(value, of, suffix)
    }
    for (const { schema, of, isRequest } of roots) visit(schema, of, isRequest ? 'Input' : '')
  }

  /** Names shapes without a title that occur in several places after the first of them. */
  #claimPlaces(node: unknown, at: string, met: Set<string>): void {
    if (Array.isArray(node)) for (const one of node) this.#claimPlaces(one, at, met)
    if (!isObject(node)) return
    const shape = isNameable(node) ? this.#shapeOf(node) : undefined
    if (shape !== undefined) {
      if (shape.places > 1) this.#claim(shape, at)
      if (met.has(this.#keyOf(node))) return
      met.add(this.#keyOf(node))
    }
    for (const [part, name] of partsOf(node, shape?.name ?? at)) this.#claimPlaces(part, name, met)
  }

  /** Assigns the first free name; a number is added only if all are taken. */
  #claim(shape: Shape, ...names: readonly string[]): void {
    if (shape.name !== undefined) return
    const last = names.at(-1) ?? ''
    let name = names.find((one) => !this.#taken.has(one))
    for (let number = 2; name === undefined; number += 1) {
      if (!this.#taken.has(`${last}${number}`)) name = `${last}${number}`
    }
    shape.name = name
    this.#taken.set(name, shape)
  }
}

/** Returns the parts of a node, with the names that follow from their place. */
function partsOf(node: Json, here: string): readonly (readonly [unknown, string])[] {
  return Object.entries(node).flatMap(([key, value]): readonly (readonly [unknown, string])[] => {
    if (key !== 'properties' || !isObject(value)) return [[value, key === 'items' ? singular(here) : here]]
    return Object.entries(value).map(([name, field]) => [field, `${here}${pascal(name)}`])
  })
}

/** Returns whether a keyword is beside a reference, and so irrelevant to the comparison. */
const isBeside = (key: string, value: unknown, isSchema: boolean): boolean =>
  key === 'default' ? isSchema : (key === 'description' || key === 'title') && typeof value === 'string'

/** Returns the component itself, with its description only. */
const withoutTitle = (node: Json): Json =>
  Object.fromEntries(
    Object.entries(node).filter(([key, value]) => key === 'description' || !isBeside(key, value, isNameable(node))),
  )

function reference({ node }: Shape, name: string, at: Json): Json {
  const { description } = at
  return {
    $ref: `#/components/schemas/${name}`,
    ...(description === undefined || description === node['description'] ? {} : { description }),
    ...('default' in at ? { default: at['default'] } : {}),
  }
}
