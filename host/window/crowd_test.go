package window

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// airlineSkill is the airline's skill with the tools of the recordings.
func airlineSkill(t testing.TB) *manifest.Skill {
	t.Helper()
	data, err := fs.ReadFile(shared(t), "tau-airline/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	s := &manifest.Skill{GuideText: "Ask for the user id first.", Manifest: abi.Manifest{
		Name: "airline.service", Summary: "Serves an airline's customers: searches, bookings, changes, refunds.", Guide: "SKILL.md",
		Positioning: "Use it to look up, book, change or cancel flight reservations of ONE known customer of this airline, and to compensate that customer.",
	}}
	for _, r := range recorded {
		effect := abi.Read
		for _, verb := range []string{"book_", "cancel_", "update_", "send_", "transfer_"} {
			if strings.HasPrefix(r.Function.Name, verb) {
				effect = abi.Write
			}
		}
		s.Tools = append(s.Tools, &manifest.Tool{Tool: abi.Tool{Name: r.Function.Name, Summary: r.Function.Description, Effect: effect, Input: r.Function.Parameters}})
	}
	return s
}

// shopSkill has the tools of a live shop, with an example in each language.
func shopSkill() *manifest.Skill {
	s := &manifest.Skill{Manifest: abi.Manifest{Name: "shop.live", Summary: "Runs a live shop: products, prices, coupons, the stage.",
		Positioning: "Use it for the products of this shop in its live session."}}
	for _, t := range []struct{ name, summary, args, zh, zhArgs, en, enArgs string }{
		{"find_products", "Find products by words of their title or by their number; without words, list them.", "query", "有什么保温杯？", `{"query":"保温杯"}`, "Find me a mug", `{"query":"mug"}`},
		{"get_product", "Show one product by its number: title, price, floor price and stock.", "sku", "1001 多少钱，还有货吗？", `{"sku":"1001"}`, "How much is product 1002?", `{"sku":"1002"}`},
		{"quote", "Quote the price of one product, with the lowest price that it may have.", "sku", "1001 现在卖多少钱？", `{"sku":"1001"}`, "What is the price of 1002?", `{"sku":"1002"}`},
		{"set_price", "Change the price of one product.", "sku price", "把 1001 改到 89 元", `{"sku":"1001","price":"89"}`, "Set the price of 1002 to 35.50", `{"sku":"1002","price":"35.50"}`},
		{"current_product", "Show the product that is on stage now.", "", "现在台上是哪个商品？", `{}`, "What is on stage?", `{}`},
		{"switch_product", "Put another product on stage. Products without stock are refused.", "sku", "切到 1001", `{"sku":"1001"}`, "Switch to product 1001", `{"sku":"1001"}`},
		{"issue_coupon", "Issue a number of coupons of one amount, for the whole shop or for one product.", "sku amount count", "给 1001 发 100 张 10 元优惠券", `{"sku":"1001","amount":"10","count":"100"}`,
			"Issue 20 coupons of 5.50 for the whole shop", `{"amount":"5.50","count":"20"}`},
		{"list_coupons", "List the coupons that were issued.", "", "发过哪些优惠券？", `{}`, "Which coupons are there?", `{}`},
	} {
		tool := plainTool(t.name, t.summary, strings.Fields(t.args)...)
		tool.Examples = []abi.Example{{Say: t.zh, Args: json.RawMessage(t.zhArgs)}, {Say: t.en, Args: json.RawMessage(t.enArgs)}}
		s.Tools = append(s.Tools, tool)
	}
	return s
}

func plainTool(name, summary string, args ...string) *manifest.Tool {
	properties := map[string]any{}
	for _, a := range args {
		properties[a] = map[string]any{"type": "string", "description": "the " + strings.ReplaceAll(a, "_", " ")}
	}
	input, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": args})
	if err != nil {
		panic(err)
	}
	return &manifest.Tool{Tool: abi.Tool{Name: name, Summary: summary, Effect: abi.Read, Input: input}}
}

// businesses are what the other skills are about: close neighbours of the
// airline first, then of the shop, then anything that a company runs.
const businesses = `hotel room|a hotel's rooms for travellers|check_in_date check_out_date guest_name user_id
train ticket|train tickets between two cities|origin destination date passenger_name
rental car|cars that travellers rent at airports|pickup_date return_date driver_name airport
cruise|cruises and cabins on ships|cabin date passenger_name port
airport lounge|lounges at airports for members|airport date membership user_id
bus trip|buses between cities|origin destination date seat
tour|guided tours for travellers|city date language group_size
travel insurance|insurance policies for travellers|user_id trip_date amount
visa application|visas for travellers|passport_number country date
taxi ride|taxis and rides in a city|origin destination time payment_id
restaurant table|tables in restaurants|date time guests customer_name
parking space|parking at airports and in towns|plate date duration
ferry crossing|ferries for people and cars|origin destination date vehicle
loyalty account|points and tiers of members|user_id membership points
gift card|gift cards and their balance|card_id amount user_id
auction lot|auctions of goods|lot price bidder
wholesale order|orders of retailers at a wholesaler|sku quantity price customer_id
warehouse shelf|goods in a warehouse|sku shelf quantity
shipment|parcels on their way to customers|tracking_number address date
return parcel|goods that customers send back|order_id reason sku
product review|what customers write about products|sku rating text
price tag|printed price tags in a branch|sku price branch
live stream|streams, their titles and covers|stream_id title time
lucky draw|draws among viewers of a stream|stream_id prize count
viewer comment|comments of viewers|stream_id comment_id text
flash sale|sales of an hour|sku discount start_time
membership coupon|coupons for members of a club|member_id amount expiry
supplier contract|contracts with suppliers|supplier_id term amount
purchase invoice|invoices of suppliers|invoice_id amount due_date
sales invoice|invoices to customers|invoice_id customer_id amount
bank transfer|transfers between accounts|account amount currency
credit card|cards, limits and blocks|card_id limit customer_id
loan|loans and their instalments|loan_id amount term
tax return|tax returns of a company|year amount form
payroll slip|salaries of employees|employee_id month amount
leave request|days off of employees|employee_id from_date to_date
job opening|open positions and applicants|position department date
training course|courses for employees|course_id employee_id date
expense report|expenses of employees on trips|report_id amount employee_id
support ticket|tickets of a help desk|ticket_id priority text
knowledge article|articles of a help desk|article_id title text
phone contract|contracts of a phone company|phone_number plan customer_id
energy meter|meters and what they read|meter_id reading date
insurance claim|claims of insured people|claim_id amount date
doctor appointment|appointments with doctors|patient_id date doctor
prescription|prescriptions of patients|patient_id drug dose
laboratory sample|samples and findings|sample_id test date
school class|classes, teachers and pupils|class_id teacher subject
library book|books that readers borrow|isbn reader_id date
cinema seat|seats for films|film date seat
concert ticket|tickets for concerts|concert date category
gym session|sessions with trainers|member_id trainer time
flat viewing|flats that are let|flat_id date visitor
building permit|permits of a town|permit_id address date
garden service|gardeners and their visits|address date service
vehicle service|services of cars in a garage|plate date work
delivery route|routes of delivery vans|route_id driver date
machine part|spare parts of machines|part_id machine quantity
production batch|batches in a plant|batch_id product quantity
quality check|checks of goods in a plant|batch_id result inspector
farm harvest|fields and harvests|field crop date
weather station|stations and their readings|station date value
news article|articles of a paper|article_id title author
survey|surveys and answers|survey_id question answer
meeting room|rooms in an office|room date attendees
直播间公告|直播间的公告与置顶|公告编号 内容 时间
会员积分|会员的积分与等级|会员编号 积分 等级
快递包裹|包裹的物流与签收|单号 地址 日期
酒店客房|酒店的房间与入住|房型 入住日期 姓名
火车票|火车票的查询与改签|出发地 目的地 日期`

// operations are what each of them does, with its thing in place of %s. The
// first ones are worded as the airline's and the shop's own tools are.
func operations() [][2]string {
	return [][2]string{
		{"get_%s_details", "Get the details of a %s."}, {"book_%s", "Book or order a %s for a customer."}, {"cancel_%s", "Cancel a whole %s and refund it."},
		{"search_%s", "Search for a %s by date, place or words."}, {"update_%s", "Update or change a %s that exists."}, {"list_all_%ss", "List every %s that there is now."},
		{"set_%s_price", "Set the price of a %s."}, {"check_%s_status", "Check the status of a %s and whether it is available."},
	}
}

func chineseOperations() [][2]string {
	return [][2]string{
		{"%s查询", "查询%s的详情。"}, {"%s新建", "为客户新建或预订%s。"}, {"%s取消", "取消%s并退款。"}, {"%s搜索", "按日期、地点或关键词搜索%s。"},
		{"%s修改", "修改已有的%s。"}, {"%s列表", "列出现有的全部%s。"}, {"%s定价", "设置%s的价格。"}, {"%s状态", "查看%s的状态，是否可用。"},
	}
}

// distractors gives so many tools of other businesses, in skills of eight.
func distractors(count int) []*manifest.Skill {
	var skills []*manifest.Skill
	made := 0
	for i, business := range strings.Split(businesses, "\n") {
		fields := strings.Split(business, "|")
		thing := strings.ReplaceAll(fields[0], " ", "_")
		s := &manifest.Skill{Manifest: abi.Manifest{Name: fmt.Sprintf("b%02d.%s", i, thing), Summary: "Handles " + fields[1] + ".",
			Positioning: "Use it for " + fields[1] + ", and for nothing else."}}
		ops := operations()
		if thing[0] >= 0x80 {
			ops = chineseOperations()
		}
		for _, op := range ops {
			if made++; made > count {
				break
			}
			tool := plainTool(fmt.Sprintf(op[0], thing), fmt.Sprintf(op[1], fields[0]), strings.Fields(fields[2])...)
			s.Tools = append(s.Tools, tool)
		}
		if len(s.Tools) > 0 {
			skills = append(skills, s)
		}
	}
	return skills
}

// crowd is the shop and the airline among 500 other tools.
func crowd(t testing.TB) []*manifest.Skill {
	skills := distractors(500)
	middle := len(skills) / 2
	return append(append(append([]*manifest.Skill{shopSkill()}, skills[:middle]...), airlineSkill(t)), skills[middle:]...)
}
