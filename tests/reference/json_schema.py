"""The part of JSON Schema that the package's own schema uses, read from its definition."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
WORDS = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "required", "properties"}
WORDS |= {"additionalProperties", "items", "minimum", "maximum"}


def faults(value, schema, root=None, path="result"):
    """All places at which a value does not fit a schema, in words."""
    root = root or schema
    assert set(schema) <= WORDS, f"{set(schema) - WORDS} is not understood here"
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    found = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{path} is {value!r}")
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_boolean = isinstance(value, bool)
    if kinds and not any(isinstance(value, TYPES[kind]) and is_boolean == (kind == "boolean") for kind in kinds):
        return [*found, f"{path} is {value!r}, not {kinds}"]
    is_number = isinstance(value, (int, float)) and not is_boolean
    if is_number and not schema.get("minimum", float("-inf")) <= value <= schema.get("maximum", float("inf")):
        found.append(f"{path} is {value!r}")
    if isinstance(value, list) and "items" in schema:
        for at, each in enumerate(value):
            found += faults(each, schema["items"], root, f"{path}[{at}]")
    if isinstance(value, dict):
        found += [f"{path} has no {name}" for name in schema.get("required", []) if name not in value]
        others = schema.get("additionalProperties", True)
        for name, each in value.items():
            inner = schema.get("properties", {}).get(name, others)
            if inner is False:
                found.append(f"{path} has {name}")
            elif inner is not True:
                found += faults(each, inner, root, f"{path}.{name}")
    return found
