import forge from 'node-forge'

/** The file cannot be read, for a reason that its owner can be told. The message is the rest of a sentence about it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

export type Node = forge.asn1.Asn1

/** Deeper than the nesting of any certificate or key file. */
const DEPTH_MAX = 32

/** Parses one value of DER or BER. Strings are not parsed further. */
export function parseDer(bytes: Buffer): Node {
  try {
    // The type declaration has no options.
    const options: object = { strict: true, parseAllBytes: true, decodeBitStrings: false, maxDepth: DEPTH_MAX }
    return forge.asn1.fromDer(bytes.toString('latin1'), options as unknown as boolean)
  } catch {
    throw new Unreadable('is damaged, or not a file of this type')
  }
}

export function encodeDer(node: Node): Buffer {
  return Buffer.from(forge.asn1.toDer(node).getBytes(), 'latin1')
}

/** Returns the elements of a sequence, a set or a tagged value. */
export function childrenOf(node: Node | undefined): readonly Node[] {
  if (node === undefined || !Array.isArray(node.value)) throw new Unreadable('is damaged: a part of it is missing')
  return node.value
}

/** Returns the bytes of a primitive value, joined if BER has split them. */
export function bytesOf(node: Node | undefined): Buffer {
  if (node === undefined) throw new Unreadable('is damaged: a part of it is missing')
  if (typeof node.value === 'string') return Buffer.from(node.value, 'latin1')
  return Buffer.concat(node.value.map((piece) => bytesOf(piece)))
}

export function numberOf(node: Node | undefined): number {
  const bytes = bytesOf(node)
  // More than four bytes exceed every count in such files.
  return bytes.length === 0 || bytes.length > 5 ? Number.MAX_SAFE_INTEGER : bytes.readIntBE(0, bytes.length)
}

export function oidOf(node: Node | undefined): string {
  const bytes = bytesOf(node)
  if (bytes.length === 0 || bytes.length > 32) throw new Unreadable('is damaged: a part of it has no type')
  return forge.asn1.derToOid(forge.util.createBuffer(bytes.toString('latin1')))
}
