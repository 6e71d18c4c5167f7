// What sluice_describe tells: skill.yaml as JSON, without the module.
export const manifest = `{
  "sluice": 1,
  "name": "shop.reserve",
  "version": "1.0.0",
  "summary": "Reserves pieces of a product for viewers of a live show.",
  "positioning": "Use it to hold pieces of ONE product for ONE viewer of the current live show, to give them back, and to see who holds what. Never for payment, for prices (shop.pricing), or for products of another shop.",
  "abi": 1,
  "capabilities": {"kv": {"namespace": "shop"}, "state": {"reads": ["live.most"], "writes": ["live.reserved"]}},
  "tools": [
    {
      "name": "reserve",
      "summary": "Hold pieces of one product for one viewer; again for the same viewer replaces what was held.",
      "effect": "write",
      "risk": "soft-gate",
      "targets": "[args.sku]",
      "idempotent": true,
      "undo": "release",
      "input": {
        "type": "object",
        "properties": {
          "sku": {"type": "string", "description": "the product's number, such as 1001", "pattern": "^[A-Za-z0-9-]{1,32}$"},
          "buyer": {
            "type": "string",
            "description": "the viewer's name as the live show has it",
            "minLength": 1,
            "maxLength": 40
          },
          "pieces": {"type": "integer", "description": "how many to hold", "minimum": 1, "maximum": 99},
          "note": {"type": "string", "description": "one line for whoever packs it", "maxLength": 80}
        },
        "required": ["sku", "buyer", "pieces"],
        "additionalProperties": false
      },
      "output": {
        "type": "object",
        "properties": {
          "sku": {"type": "string"},
          "title": {"type": "string"},
          "buyer": {"type": "string"},
          "pieces": {"type": "integer"},
          "left": {"type": "integer", "description": "pieces that others can still reserve"},
          "total": {"type": "number", "description": "what the pieces cost"}
        },
        "required": ["sku", "title", "buyer", "pieces", "left", "total"]
      },
      "examples": [
        {
          "say": "给小美留两个 1001",
          "args": {"sku": "1001", "buyer": "小美", "pieces": 2},
          "kv": {"product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}},
          "returns": {"sku": "1001", "title": "保温杯", "buyer": "小美", "pieces": 2, "left": 5, "total": 199.8}
        },
        {
          "say": "Keep eight of 1001 for Tom",
          "args": {"sku": "1001", "buyer": "Tom", "pieces": 8},
          "kv": {"product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}},
          "problem": 3101
        },
        {
          "say": "Hold a 9999 for Tom",
          "args": {"sku": "9999", "buyer": "Tom", "pieces": 1},
          "kv": {"product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}},
          "problem": 3004
        }
      ]
    },
    {
      "name": "release",
      "summary": "Give back what one viewer holds of one product.",
      "effect": "write",
      "risk": "soft-gate",
      "targets": "[args.sku]",
      "idempotent": true,
      "input": {
        "type": "object",
        "properties": {
          "sku": {"type": "string", "description": "the product's number, such as 1001", "pattern": "^[A-Za-z0-9-]{1,32}$"},
          "buyer": {
            "type": "string",
            "description": "the viewer's name as the live show has it",
            "minLength": 1,
            "maxLength": 40
          }
        },
        "required": ["sku", "buyer"],
        "additionalProperties": false
      },
      "output": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "buyer": {"type": "string"}, "pieces": {"type": "integer"}},
        "required": ["sku", "buyer", "pieces"]
      },
      "examples": [
        {
          "say": "小美不要 1001 了",
          "args": {"sku": "1001", "buyer": "小美"},
          "kv": {
            "hold/1001/小美": {"buyer": "小美", "pieces": 2, "at": "2026-01-15T12:00:00Z"},
            "product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}
          },
          "returns": {"sku": "1001", "buyer": "小美", "pieces": 2}
        },
        {
          "say": "Tom does not want the 1001 any more",
          "args": {"sku": "1001", "buyer": "Tom"},
          "kv": {
            "hold/1001/小美": {"buyer": "小美", "pieces": 2, "at": "2026-01-15T12:00:00Z"},
            "product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}
          },
          "problem": 3004
        }
      ]
    },
    {
      "name": "holds",
      "summary": "List who holds how many pieces of one product, by name.",
      "effect": "read",
      "input": {
        "type": "object",
        "properties": {
          "sku": {"type": "string", "description": "the product's number, such as 1001", "pattern": "^[A-Za-z0-9-]{1,32}$"},
          "most": {
            "type": "integer",
            "description": "how many buyers to list at most",
            "default": 20,
            "minimum": 1,
            "maximum": 100
          }
        },
        "required": ["sku"],
        "additionalProperties": false
      },
      "output": {
        "type": "object",
        "properties": {
          "sku": {"type": "string"},
          "buyers": {"type": "integer", "description": "all of them, listed or not"},
          "pieces": {"type": "integer", "description": "of all of them"},
          "holds": {
            "type": ["array", "null"],
            "items": {
              "type": "object",
              "properties": {
                "buyer": {"type": "string"},
                "pieces": {"type": "integer"},
                "note": {"type": "string"},
                "at": {"type": "string", "description": "when it was reserved"}
              },
              "required": ["buyer", "pieces", "at"]
            }
          }
        },
        "required": ["sku", "buyers", "pieces", "holds"]
      },
      "examples": [
        {
          "say": "1001 谁留了货？",
          "args": {"sku": "1001"},
          "kv": {
            "hold/1001/小美": {"buyer": "小美", "pieces": 2, "at": "2026-01-15T12:00:00Z"},
            "product/1001": {"sku": "1001", "title": "保温杯", "price": 99.9, "stock": 7}
          },
          "returns": {
            "sku": "1001",
            "buyers": 1,
            "pieces": 2,
            "holds": [{"buyer": "小美", "pieces": 2, "at": "2026-01-15T12:00:00Z"}]
          }
        }
      ]
    }
  ]
}`;
