/**
 * A port that a program brings may be an instance of a class. The runtime hands its methods around by themselves and copies it with `...`, which loses
 * `this` and everything on the prototype. The copy has each property of the object and of its classes, with methods that keep their `this`.
 */
export function bindMethods<T extends object>(of: T): T {
  const bound: object = {};
  for (let level: object | null = of; level !== null && level !== Object.prototype; level = Object.getPrototypeOf(level))
    for (const name of Reflect.ownKeys(level))
      if (name !== "constructor" && !Object.hasOwn(bound, name))
        Object.defineProperty(bound, name, { enumerable: true, configurable: true, get: readBound(of, name) });
  return bound as T;
}

/** Read at each use: what the object changes later is seen. */
function readBound(of: object, name: string | symbol): () => unknown {
  let last: unknown;
  let bound: unknown;
  return () => {
    const value: unknown = Reflect.get(of, name);
    if (typeof value !== "function") return value;
    if (value !== last) [last, bound] = [value, value.bind(of)];
    return bound;
  };
}
